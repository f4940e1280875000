// Of a column and a row: operands are repeated to one shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @column_and_row() {
  %x = stablehlo.constant dense<[[2.0], [3.0]]> : tensor<2x1xf64>
  %y = stablehlo.constant dense<[[1.0, 2.5]]> : tensor<1x2xf64>
  %r = chlo.broadcast_zeta %x, %y : (tensor<2x1xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
  %expected1 = stablehlo.constant dense<[[1.6449340668482266, 0.4903577561002349], [1.202056903159594, 0.11810202582086368]]> : tensor<2x2xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2x2xf64>, tensor<2x2xf64>
  func.return
}

// -----

func.func @vector_and_scalar() {
  %x = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<1.0> : tensor<f64>
  %r = chlo.broadcast_zeta %x, %y : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  %expected1 = stablehlo.constant dense<[1.6449340668482266, 1.202056903159594]> : tensor<2xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2xf64>, tensor<2xf64>
  func.return
}
