// Imaginary parts, zero for real numbers.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-0.0, -3.5)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[2.0, -3.5]> : tensor<2xf32>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %r = stablehlo.imag %x : (tensor<1xcomplex<f64>>) -> tensor<1xf64>
  check.expect_eq_const %r, dense<[2.0]> : tensor<1xf64>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.5, 2.0]> : tensor<2xf32>
  %r = stablehlo.imag %x : tensor<2xf32>
  check.expect_eq_const %r, dense<[0.0, 0.0]> : tensor<2xf32>
  func.return
}
