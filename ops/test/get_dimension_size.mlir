// The size of a dimension as a number.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @second() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<3x4xi32>) -> tensor<i32>
  check.expect_eq_const %r, dense<4> : tensor<i32>
  func.return
}
