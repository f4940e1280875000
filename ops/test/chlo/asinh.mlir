// Inverse hyperbolic sines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, -10000.0]> : tensor<5xf32>
  %r = chlo.asinh %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.4812118, -0.8813736, 2.998223, -9.903487]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, -10000.0]> : tensor<5xf64>
  %r = chlo.asinh %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.48121182505960347, -0.881373587019543, 2.99822295029797, -9.903487555036127]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.asinh %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}
