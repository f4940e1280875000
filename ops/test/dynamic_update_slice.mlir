// A block replaced at a computed start, moved to lie inside.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @inside() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.constant dense<2> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<i32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[0, 1, 2, 3], [4, 5, -1, -2], [8, 9, -3, -4]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @moved_inside() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %u = stablehlo.constant dense<[[-1, -2], [-3, -4]]> : tensor<2x2xi32>
  %i = stablehlo.constant dense<9> : tensor<ui32>
  %j = stablehlo.constant dense<4294967295> : tensor<ui32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x4xi32>, tensor<2x2xi32>, tensor<ui32>, tensor<ui32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[0, 1, 2, 3], [4, 5, -1, -2], [8, 9, -3, -4]]> : tensor<3x4xi32>
  func.return
}
