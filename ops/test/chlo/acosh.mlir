// Inverse hyperbolic cosines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 1.5, 10.0, 10000.0]> : tensor<4xf32>
  %r = chlo.acosh %x : tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.9624236, 2.993223, 9.903487]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 1.5, 10.0, 10000.0]> : tensor<4xf64>
  %r = chlo.acosh %x : tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.9624236501192069, 2.993222846126381, 9.903487550036129]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.acosh %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}
