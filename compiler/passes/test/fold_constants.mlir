// Operations on constants are computed by the compiler, within bounds.
// RUN: isthmus-opt %s -simplify -split-input-file | FileCheck %s
// RUN: env ISTHMUS_FOLD_BYTES=0 isthmus-opt %s -simplify -split-input-file | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: @wraps
// CHECK: stablehlo.constant dense<[-126, 3]> : tensor<2xi8>
// CHECK-NOT: stablehlo.add
// OFF-LABEL: @wraps
// OFF: stablehlo.add
func.func @wraps() -> tensor<2xi8> {
  %0 = stablehlo.constant dense<[127, 1]> : tensor<2xi8>
  %1 = stablehlo.constant dense<[3, 2]> : tensor<2xi8>
  %2 = stablehlo.add %0, %1 : tensor<2xi8>
  return %2 : tensor<2xi8>
}

// -----

// CHECK-LABEL: @reduces
// CHECK: stablehlo.constant dense<[6.000000e+00, 1.500000e+01]> : tensor<2xf32>
// CHECK-NOT: stablehlo.reduce
func.func @reduces() -> tensor<2xf32> {
  %0 = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %1 = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1]
      : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// One number stays one number, at any size.
// CHECK-LABEL: @keeps_splats
// CHECK: stablehlo.constant dense<6.000000e+00> : tensor<1000x1000xf32>
// CHECK-NOT: stablehlo.multiply
func.func @keeps_splats() -> tensor<1000x1000xf32> {
  %0 = stablehlo.constant dense<2.0> : tensor<1000x1000xf32>
  %1 = stablehlo.constant dense<3.0> : tensor<1000x1000xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<1000x1000xf32>
  return %2 : tensor<1000x1000xf32>
}

// -----

// CHECK-LABEL: @folds_all_results
// CHECK-DAG: stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
// CHECK-DAG: stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
// CHECK-NOT: stablehlo.sort
func.func @folds_all_results() -> (tensor<3xi32>, tensor<3xi1>) {
  %0 = stablehlo.constant dense<[3, 1, 2]> : tensor<3xi32>
  %1 = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %2:2 = "stablehlo.sort"(%0, %1) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i1>, %d: tensor<i1>):
    %3 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<3xi32>, tensor<3xi1>) -> (tensor<3xi32>, tensor<3xi1>)
  return %2#0, %2#1 : tensor<3xi32>, tensor<3xi1>
}

// -----

// CHECK-LABEL: @leaves_what_grows
// CHECK: stablehlo.pad
func.func @leaves_what_grows() -> tensor<100x100xf32> {
  %0 = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %1 = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.pad %0, %1, low = [0, 0], high = [98, 98], interior = [0, 0]
      : (tensor<2x2xf32>, tensor<f32>) -> tensor<100x100xf32>
  return %2 : tensor<100x100xf32>
}

// -----

// CHECK-LABEL: @leaves_barriers_and_unknown_calls
// CHECK: stablehlo.optimization_barrier
// CHECK: stablehlo.custom_call
func.func @leaves_barriers_and_unknown_calls() -> (tensor<i32>, tensor<i32>) {
  %0 = stablehlo.constant dense<1> : tensor<i32>
  %1 = stablehlo.optimization_barrier %0 : tensor<i32>
  %2 = stablehlo.custom_call @what(%0) : (tensor<i32>) -> tensor<i32>
  return %1, %2 : tensor<i32>, tensor<i32>
}
