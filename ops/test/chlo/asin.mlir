// Inverse sines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 1.0, -0.25]> : tensor<5xf32>
  %r = chlo.asin %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.5235988, -1.5707964, 1.5707964, -0.25268024]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 1.0, -0.25]> : tensor<5xf64>
  %r = chlo.asin %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.5235987755982989, -1.5707963267948966, 1.5707963267948966, -0.25268025514207865]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[2.0, 0x7FC00000]> : tensor<2xf32>
  %r = chlo.asin %x : tensor<2xf32> -> tensor<2xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7FC00000]> : tensor<2xf32>
  func.return
}
