// Inverse tangents.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, -10000.0]> : tensor<5xf32>
  %r = chlo.atan %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.4636476, -0.7853982, 1.4711276, -1.5706964]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, -10000.0]> : tensor<5xf64>
  %r = chlo.atan %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.4636476090008061, -0.7853981633974483, 1.4711276743037347, -1.5706963267952299]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7FC00000]> : tensor<1xf32>
  %r = chlo.atan %x : tensor<1xf32> -> tensor<1xf32>
  check.expect_eq_const %r, dense<[0x7FC00000]> : tensor<1xf32>
  func.return
}
