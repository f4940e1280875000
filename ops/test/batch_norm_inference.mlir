// Normalised by a mean and a variance that are given.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @last_feature() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]]> : tensor<1x4x2xf64>
  %s = stablehlo.constant dense<[2.0, 0.5]> : tensor<2xf64>
  %o = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf64>
  %m = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf64>
  %v = stablehlo.constant dense<[4.0, 0.25]> : tensor<2xf64>
  %r = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) {epsilon = 1.0e-3 : f32, feature_index = 2 : i64} : (tensor<1x4x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<1x4x2xf64>
  check.expect_almost_eq_const %r, dense<[[[0.00012497657331667078, -1.9980059799753214], [1.9998750234266833, -0.0019940200246787443], [3.9996250702800498, 1.9940179399259637], [5.999375117133416, 3.990029899876606]]]> : tensor<1x4x2xf64>, tolerance = 1.0e-9
  func.return
}
