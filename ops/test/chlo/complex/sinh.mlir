// Hyperbolic sines, of complex numbers. Frameworks send these decomposed.
// RUN: isthmus-run %s --split --quiet

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.sinh %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.5048957, 0.27897912), (0.48905626, 1.4031192), (1.55797, -1.6034936)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.sinh %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.504895714387995, 0.2789791283502615), (0.4890562590412937, 1.4031192506220405), (1.5579700760145927, -1.6034935732013755)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
