// Of a column and a row, by a scalar.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @scalar_predicate() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %y = stablehlo.constant dense<[[3, 4]]> : tensor<1x2xi32>
  %r = chlo.broadcast_select %p, %x, %y : (tensor<i1>, tensor<2x1xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[3, 4], [3, 4]]> : tensor<2x2xi32>
  func.return
}
