// The angle of a point, in all quadrants.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.0]> : tensor<5xf32>
  %y = stablehlo.constant dense<[1.0, -1.0, -1.0, 1.0, -1.0]> : tensor<5xf32>
  %r = stablehlo.atan2 %x, %y : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.7853982, 2.3561945, -2.3561945, -0.7853982, 3.1415927]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0, 0.0]> : tensor<5xf64>
  %y = stablehlo.constant dense<[1.0, -1.0, -1.0, 1.0, -1.0]> : tensor<5xf64>
  %r = stablehlo.atan2 %x, %y : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.7853981633974483, 2.356194490192345, -2.356194490192345, -0.7853981633974483, 3.141592653589793]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0.0, 0x7FC00000]> : tensor<3xf32>
  %y = stablehlo.constant dense<[0x7F800000, 0.0, 1.0]> : tensor<3xf32>
  %r = stablehlo.atan2 %x, %y : tensor<3xf32>
  %expected1 = stablehlo.constant dense<[0.7853982, 0.0, 0x7FC00000]> : tensor<3xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 1 : tensor<3xf32>, tensor<3xf32>
  func.return
}
