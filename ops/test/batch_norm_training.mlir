// Normalised by the batch's own mean and variance, which are results too.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @last_feature() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]]> : tensor<1x4x2xf64>
  %s = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
  %o = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf64>
  %r:3 = "stablehlo.batch_norm_training"(%x, %s, %o) {epsilon = 1.0e-3 : f32, feature_index = 2 : i64} : (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>)
  check.expect_eq_const %r#1, dense<[4.0, 5.0]> : tensor<2xf64>
  check.expect_eq_const %r#2, dense<[5.0, 5.0]> : tensor<2xf64>
  check.expect_almost_eq_const %r#0, dense<[[[-1.6830132850722235, -1.6707533212680559], [0.10566223830925892, -1.2235844404226852], [1.894337761690741, -0.7764155595773148], [3.6830132850722235, -0.32924667873194413]]]> : tensor<1x4x2xf64>, tolerance = 1.0e-9
  func.return
}
