// RUN: isthmus-opt %s -inline-calls -split-input-file -verify-diagnostics | FileCheck %s
// RUN: isthmus-opt %s "-inline-calls=largest-top-k=4" -legalize-ops -split-input-file -verify-diagnostics | FileCheck %s --check-prefix=FEW

// Calls of calls and the decomposition of a composite that no backend knows become one function.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = stablehlo.sine %arg0
// CHECK-NEXT: %[[B:.*]] = stablehlo.sine %[[A]]
// CHECK-NEXT: %[[C:.*]] = stablehlo.negate %[[B]]
// CHECK-NEXT: return %[[C]]
// CHECK-NOT: func.func
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "my.negate" %0 {decomposition = @negate} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @once(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @once(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func private @once(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @negate(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A call inside a region is inlined where it stands.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.case
// CHECK-NEXT: stablehlo.cosine %arg1
// CHECK-NOT: call
func.func @main(%i: tensor<i32>, %x: tensor<f32>) -> tensor<f32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = func.call @cosine(%x) : (tensor<f32>) -> tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func private @cosine(%x: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.cosine %x : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{function @main calls itself: recursion cannot be compiled}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @back(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @back(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Kernels compute this function better than its decomposition does, in f32; of f64 they call the C
// library.
// CHECK-LABEL: func.func @functions
// CHECK-NEXT: chlo.erfc %arg0 : tensor<4xf32>
// CHECK-NEXT: stablehlo.negate %arg1 : tensor<4xf64>
func.func @functions(%x: tensor<4xf32>, %y: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>) {
  %0 = stablehlo.composite "chlo.erfc" %x {decomposition = @erf} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "chlo.erfc" %y {decomposition = @erf64} : (tensor<4xf64>) -> tensor<4xf64>
  return %0, %1 : tensor<4xf32>, tensor<4xf64>
}
func.func private @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @erf64(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.negate %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// A kernel selects so few elements; more of them are sorted.
// CHECK-LABEL: func.func @selections
// CHECK: stablehlo.composite "chlo.top_k"
// FEW-LABEL: func.func @selections
// FEW: stablehlo.sort
// FEW-NOT: composite
func.func @selections(%x: tensor<2x9xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>) {
  %0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 5 : i64}, decomposition = @top_k} : (tensor<2x9xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>)
  return %0#0, %0#1 : tensor<2x5xf32>, tensor<2x5xi32>
}
func.func private @top_k(%x: tensor<2x9xf32>) -> (tensor<2x5xf32>, tensor<2x5xi32>) {
  %values, %indices = chlo.top_k(%x, k = 5) : tensor<2x9xf32> -> (tensor<2x5xf32>, tensor<2x5xi32>)
  return %values, %indices : tensor<2x5xf32>, tensor<2x5xi32>
}
