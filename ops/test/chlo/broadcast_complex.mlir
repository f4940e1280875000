// Of a column and a row: operands are repeated to one shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @column_and_row() {
  %x = stablehlo.constant dense<[[1.0], [-1.0]]> : tensor<2x1xf32>
  %y = stablehlo.constant dense<[[2.0, -3.0]]> : tensor<1x2xf32>
  %r = chlo.broadcast_complex %x, %y : (tensor<2x1xf32>, tensor<1x2xf32>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %r, dense<[[(1.0, 2.0), (1.0, -3.0)], [(-1.0, 2.0), (-1.0, -3.0)]]> : tensor<2x2xcomplex<f32>>
  func.return
}

// -----

func.func @vector_and_scalar() {
  %x = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<2.0> : tensor<f32>
  %r = chlo.broadcast_complex %x, %y : (tensor<2xf32>, tensor<f32>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, 2.0), (-1.0, 2.0)]> : tensor<2xcomplex<f32>>
  func.return
}
