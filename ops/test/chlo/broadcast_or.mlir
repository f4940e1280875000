// Of a column and a row: operands are repeated to one shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @column_and_row() {
  %x = stablehlo.constant dense<[[5], [-3]]> : tensor<2x1xi32>
  %y = stablehlo.constant dense<[[2, 7]]> : tensor<1x2xi32>
  %r = chlo.broadcast_or %x, %y : (tensor<2x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[7, 7], [-1, -1]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @vector_and_scalar() {
  %x = stablehlo.constant dense<[5, -3]> : tensor<2xi32>
  %y = stablehlo.constant dense<2> : tensor<i32>
  %r = chlo.broadcast_or %x, %y : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[7, -1]> : tensor<2xi32>
  func.return
}
