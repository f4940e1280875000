// Of a column and a row: operands are repeated to one shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @column_and_row() {
  %x = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %y = stablehlo.constant dense<[[1.5, 2.5]]> : tensor<1x2xf64>
  %r = chlo.broadcast_polygamma %x, %y : (tensor<2x1xf64>, tensor<1x2xf64>) -> tensor<2x2xf64>
  %expected1 = stablehlo.constant dense<[[0.9348022005446793, 0.4903577561002349], [-0.8287966442343201, -0.23620405164172736]]> : tensor<2x2xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 64 : tensor<2x2xf64>, tensor<2x2xf64>
  func.return
}

// -----

func.func @vector_and_scalar() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<1.5> : tensor<f64>
  %r = chlo.broadcast_polygamma %x, %y : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
  %expected1 = stablehlo.constant dense<[0.9348022005446793, -0.8287966442343201]> : tensor<2xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 64 : tensor<2xf64>, tensor<2xf64>
  func.return
}
