// The logarithmic derivative of the gamma function.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.5, 1.0, 2.5, 10.0, -0.5]> : tensor<5xf32>
  %r = chlo.digamma %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[-1.96351, -0.5772157, 0.70315665, 2.2517526, 0.036489975]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.5, 1.0, 2.5, 10.0, -0.5]> : tensor<5xf64>
  %r = chlo.digamma %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[-1.9635100260214235, -0.5772156649015329, 0.7031566406452432, 2.251752589066721, 0.03648997397857651]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7FC00000, 0x7F800000]> : tensor<2xf32>
  %r = chlo.digamma %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7F800000]> : tensor<2xf32>
  func.return
}
