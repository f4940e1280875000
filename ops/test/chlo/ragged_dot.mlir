// Rows in groups, each with a matrix of its own.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @two_groups() {
  %x = stablehlo.constant dense<[[-3.0, -2.0], [-1.0, 0.0], [1.0, 2.0], [3.0, 4.0]]> : tensor<4x2xf32>
  %y = stablehlo.constant dense<[[[-1.0, 0.0], [1.0, 2.0]], [[3.0, -1.0], [0.0, 1.0]]]> : tensor<2x2x2xf32>
  %g = stablehlo.constant dense<[1, 3]> : tensor<2xi64>
  %r = "chlo.ragged_dot"(%x, %y, %g) {
    ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
  } : (tensor<4x2xf32>, tensor<2x2x2xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  check.expect_eq_const %r, dense<[[1.0, -4.0], [-3.0, 1.0], [3.0, 1.0], [9.0, 1.0]]> : tensor<4x2xf32>
  func.return
}
