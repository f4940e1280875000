// The inverse of the error function.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -0.75, 0.99]> : tensor<4xf32>
  %r = chlo.erf_inv %x : tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.47693628, -0.8134198, 1.8213866]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 8 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -0.75, 0.99]> : tensor<4xf64>
  %r = chlo.erf_inv %x : tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.4769362762044699, -0.8134198475976184, 1.8213863677184496]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 8 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %r = chlo.erf_inv %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>
  func.return
}
