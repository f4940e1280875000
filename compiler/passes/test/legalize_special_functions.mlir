// Functions that polynomials and series approximate become elementwise arithmetic in f32 or f64.
// RUN: isthmus-opt %s -split-input-file -legalize-ops | FileCheck %s

// CHECK-NOT: chlo.
// CHECK-LABEL: func.func @of_one_number(
// CHECK-NOT: chlo.
func.func @of_one_number(%x: tensor<4xf32>, %y: tensor<f64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>) {
  %0 = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  %1 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
  %2 = chlo.digamma %x : tensor<4xf32> -> tensor<4xf32>
  %3 = chlo.bessel_i1e %y : tensor<f64> -> tensor<f64>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f64>
}

// -----

// CHECK-LABEL: func.func @of_two_numbers(
// CHECK-NOT: chlo.
func.func @of_two_numbers(%x: tensor<4xf64>, %y: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %0 = chlo.zeta %x, %y : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %1 = chlo.broadcast_polygamma %x, %y : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  return %0, %1 : tensor<4xf64>, tensor<4xf64>
}

// -----

// CHECK-LABEL: func.func @narrow(
// CHECK: stablehlo.convert %arg0 : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK-NOT: stablehlo.convert
// CHECK-NOT: bf16
// CHECK: stablehlo.convert %{{.*}} : (tensor<4xf32>) -> tensor<4xbf16>
func.func @narrow(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = chlo.lgamma %x : tensor<4xbf16> -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}
