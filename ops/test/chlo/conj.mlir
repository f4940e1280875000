// Complex conjugates.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-0.0, -1.0)]> : tensor<2xcomplex<f32>>
  %r = chlo.conj %x : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, -2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f64>>
  %r = chlo.conj %x : tensor<1xcomplex<f64>> -> tensor<1xcomplex<f64>>
  check.expect_eq_const %r, dense<[(3.0, 4.0)]> : tensor<1xcomplex<f64>>
  func.return
}
