// RUN: isthmus-opt %s -inline-calls -mlir-print-debuginfo -mlir-print-local-scope | FileCheck %s

// What a framework's own function holds is where the call is; what has a place keeps it.
// CHECK-LABEL: func.func @places
// CHECK: stablehlo.sine {{.*}} loc(callsite("sort" at "jit(f)/jit(sort)"("f.py":3:4)))
// CHECK: stablehlo.cosine {{.*}} loc("g.py":7:8)
func.func @places(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("jit(f)/jit(sort)"("f.py":3:4))
  return %0 : tensor<4xf32>
}
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.sine %x : tensor<4xf32> loc("sort")
  %1 = stablehlo.cosine %0 : tensor<4xf32> loc("g.py":7:8)
  return %1 : tensor<4xf32>
}
