// Every so many elements between bounds.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @strided() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %r = stablehlo.slice %x [1:3, 0:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %r, dense<[[4, 6], [8, 10]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @nothing() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %r = stablehlo.slice %x [2:2, 0:4] : (tensor<3x4xi32>) -> tensor<0x4xi32>
  check.expect_eq_const %r, dense<> : tensor<0x4xi32>
  func.return
}
