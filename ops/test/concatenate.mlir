// One after the other along a dimension.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @rows() {
  %x = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %y = stablehlo.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi32>
  %r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  func.return
}

// -----

func.func @columns_and_nothing() {
  %x = stablehlo.constant dense<[[1.0], [2.0]]> : tensor<2x1xf64>
  %e = stablehlo.constant dense<> : tensor<2x0xf64>
  %r = stablehlo.concatenate %x, %e, %x, dim = 1 : (tensor<2x1xf64>, tensor<2x0xf64>, tensor<2x1xf64>) -> tensor<2x2xf64>
  check.expect_eq_const %r, dense<[[1.0, 1.0], [2.0, 2.0]]> : tensor<2x2xf64>
  func.return
}
