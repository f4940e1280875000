// Derivatives of digamma.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[1.5, 2.5, 0.5, 4.0]> : tensor<4xf32>
  %r = chlo.polygamma %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.036489975, 0.49035776, -16.828796, 0.04486533]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 64 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf64>
  %y = stablehlo.constant dense<[1.5, 2.5, 0.5, 4.0]> : tensor<4xf64>
  %r = chlo.polygamma %x, %y : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.03648997397857652, 0.4903577561002349, -16.828796644234316, 0.04486532819275508]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 64 : tensor<4xf64>, tensor<4xf64>
  func.return
}
