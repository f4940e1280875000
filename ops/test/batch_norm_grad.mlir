// Gradients of the normalisation to operand, scale and offset.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @last_feature() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]]> : tensor<1x4x2xf64>
  %s = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
  %m = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %v = stablehlo.constant dense<[4.0, 0.25]> : tensor<2xf64>
  %g = stablehlo.constant dense<[[[1.0, -1.0], [0.5, 2.0], [0.0, 1.0], [-2.0, 0.25]]]> : tensor<1x4x2xf64>
  %r:3 = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) {epsilon = 1.0e-3 : f32, feature_index = 2 : i64} : (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<1x4x2xf64>) -> (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_almost_eq_const %r#0, dense<[[[0.4688554182348275, 5.64733214379043], [1.2809258727618684, -5.772082891287345], [2.0929963272889087, -21.183521846266405], [1.4052542466759252, -36.345459306251634]]]> : tensor<1x4x2xf64>, tolerance = 1.0e-9
  check.expect_almost_eq_const %r#1, dense<[-5.249343872990087, 14.471086709642158]> : tensor<2xf64>, tolerance = 1.0e-9
  check.expect_almost_eq_const %r#2, dense<[-0.5, 2.25]> : tensor<2xf64>, tolerance = 1.0e-9
  func.return
}
