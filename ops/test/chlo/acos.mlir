// Inverse cosines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 1.0, -0.25]> : tensor<5xf32>
  %r = chlo.acos %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[1.5707964, 1.0471976, 3.1415927, 0.0, 1.8234766]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 1.0, -0.25]> : tensor<5xf64>
  %r = chlo.acos %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[1.5707963267948966, 1.0471975511965979, 3.141592653589793, 0.0, 1.8234765819369754]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[2.0, 0x7FC00000]> : tensor<2xf32>
  %r = chlo.acos %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>
  func.return
}
