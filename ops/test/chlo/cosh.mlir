// Hyperbolic cosines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 5.0]> : tensor<4xf32>
  %r = chlo.cosh %x : tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[1.0, 1.127626, 1.5430807, 74.209946]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 5.0]> : tensor<4xf64>
  %r = chlo.cosh %x : tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[1.0, 1.1276259652063807, 1.5430806348152437, 74.20994852478785]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.cosh %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}
