// Hyperbolic cosines, of complex numbers. Frameworks send these decomposed.
// RUN: isthmus-run %s --split --quiet

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.cosh %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.0925708, 0.12892105), (-0.64214814, -1.0686074), (1.7212319, -1.4513994)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.cosh %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(1.0925708047319176, 0.12892104172809826), (-0.64214812471552, -1.0686074213827783), (1.7212319305052317, -1.4513994075139918)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
