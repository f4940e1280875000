// Inverse hyperbolic sines, of complex numbers. Frameworks send these decomposed.
// RUN: isthmus-run %s --split --quiet

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.asinh %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.4926757, 0.22432846), (-1.4693518, 1.06344), (1.2650751, -0.40291083)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.asinh %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.4926756834207706, 0.2243284526346675), (-1.4693517443681852, 1.063440023577752), (1.2650750428933684, -0.4029108301465699)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
