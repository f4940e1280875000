// Of a column and a row: operands are repeated to one shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @column_and_row() {
  %x = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %y = stablehlo.constant dense<[[0.0, 5.0]]> : tensor<1x2xf64>
  %r = chlo.broadcast_next_after %x, %y : (tensor<2x1xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
  check.expect_eq_const %r, dense<[[0.9999999999999999, 1.0000000000000002], [1.9999999999999998, 2.0000000000000004]]> : tensor<2x2xf64>
  func.return
}

// -----

func.func @vector_and_scalar() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<0.0> : tensor<f64>
  %r = chlo.broadcast_next_after %x, %y : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  check.expect_eq_const %r, dense<[0.9999999999999999, 1.9999999999999998]> : tensor<2xf64>
  func.return
}
