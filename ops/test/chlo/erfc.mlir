// The complementary error function.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 2.0, 5.0]> : tensor<5xf32>
  %r = chlo.erfc %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[1.0, 0.47950011, 1.8427008, 0.004677735, 1.5374598e-12]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 2.0, 5.0]> : tensor<5xf64>
  %r = chlo.erfc %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[1.0, 0.4795001221869535, 1.842700792949715, 0.004677734981047265, 1.5374597944280351e-12]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.erfc %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0.0, 2.0, 0x7FC00000]> : tensor<3xf32>
  func.return
}
