// Cube roots, of negative numbers too.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, 8.0, -27.0, 0.3, -1000.5]> : tensor<6xf32>
  %r = stablehlo.cbrt %x : tensor<6xf32>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, -3.0, 0.66943294, -10.001666]> : tensor<6xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, 8.0, -27.0, 0.3, -1000.5]> : tensor<6xf64>
  %r = stablehlo.cbrt %x : tensor<6xf64>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, -3.0, 0.6694329500821695, -10.001666388966024]> : tensor<6xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 1.0, 8.0, -27.0, 0.300048828125]> : tensor<5xf16>
  %r = stablehlo.cbrt %x : tensor<5xf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, -3.0, 0.66943359375]> : tensor<5xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 1.0, 8.0, -27.0, 0.30078125]> : tensor<5xbf16>
  %r = stablehlo.cbrt %x : tensor<5xbf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, -3.0, 0.671875]> : tensor<5xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.cbrt %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}
