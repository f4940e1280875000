// 0, 1, 2, … along a dimension, of every type.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @types() {
  %r0 = stablehlo.iota dim = 0 : tensor<3xi8>
  %r1 = stablehlo.iota dim = 0 : tensor<3xui32>
  %r2 = stablehlo.iota dim = 0 : tensor<3xf32>
  %r3 = stablehlo.iota dim = 0 : tensor<3xbf16>
  %r4 = stablehlo.iota dim = 0 : tensor<3xf64>
  %r5 = stablehlo.iota dim = 0 : tensor<3xcomplex<f32>>
  check.expect_eq_const %r0, dense<[0, 1, 2]> : tensor<3xi8>
  check.expect_eq_const %r1, dense<[0, 1, 2]> : tensor<3xui32>
  check.expect_eq_const %r2, dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
  check.expect_eq_const %r3, dense<[0.0, 1.0, 2.0]> : tensor<3xbf16>
  check.expect_eq_const %r4, dense<[0.0, 1.0, 2.0]> : tensor<3xf64>
  check.expect_eq_const %r5, dense<[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]> : tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @columns() {
  %r = stablehlo.iota dim = 1 : tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  func.return
}
