// Dense, repeated, of every type, and none at all.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @types() {
  %x = stablehlo.constant dense<[-1, 5]> : tensor<2xi8>
  %y = stablehlo.constant dense<1.5> : tensor<2x2xf64>
  %z = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %c = stablehlo.constant dense<[(0.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %h = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  %e = stablehlo.constant dense<> : tensor<0xf32>
  %r = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xi32>
  %s = stablehlo.add %y, %y : tensor<2x2xf64>
  check.expect_eq_const %r, dense<[-1, 5]> : tensor<2xi32>
  check.expect_eq_const %s, dense<3.0> : tensor<2x2xf64>
  check.expect_eq_const %z, dense<[true, false, true]> : tensor<3xi1>
  check.expect_eq_const %c, dense<[(0.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  check.expect_eq_const %h, dense<[1.5, -2.0]> : tensor<2xbf16>
  check.expect_eq_const %e, dense<> : tensor<0xf32>
  func.return
}
