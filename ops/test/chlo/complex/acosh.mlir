// Inverse hyperbolic cosines, of complex numbers. Frameworks send these decomposed.
// RUN: isthmus-run %s --split --quiet

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.acosh %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.28139606, 1.0691875), (1.5285709, 1.9978749), (1.1627921, -0.54650825)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.acosh %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.28139605624529274, 1.069187473519396), (1.5285709194809982, 1.9978749131873728), (1.1627920981631037, -0.5465082695914841)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
