// The error function.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 2.0, -3.0]> : tensor<5xf32>
  %r = chlo.erf %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.5204999, -0.8427008, 0.9953223, -0.9999779]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 2.0, -3.0]> : tensor<5xf64>
  %r = chlo.erf %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.5204998778130465, -0.8427007929497149, 0.9953222650189527, -0.9999779095030014]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.erf %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>
  func.return
}
