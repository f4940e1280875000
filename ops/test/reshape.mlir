// The same elements in row-major order under another shape.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @regroups() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %r = stablehlo.reshape %x : (tensor<3x4xi32>) -> tensor<2x6x1xi32>
  check.expect_eq_const %r, dense<[[[0], [1], [2], [3], [4], [5]], [[6], [7], [8], [9], [10], [11]]]> : tensor<2x6x1xi32>
  func.return
}

// -----

func.func @scalar() {
  %x = stablehlo.constant dense<[[2.5]]> : tensor<1x1xf64>
  %r = stablehlo.reshape %x : (tensor<1x1xf64>) -> tensor<f64>
  check.expect_eq_const %r, dense<2.5> : tensor<f64>
  func.return
}
