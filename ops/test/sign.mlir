// -1, 0 or 1; complex numbers divided by their absolute values.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[-3, 0, 5]> : tensor<3xi8>
  %r = stablehlo.sign %x : tensor<3xi8>
  check.expect_eq_const %r, dense<[-1, 0, 1]> : tensor<3xi8>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[-3.5, -0.0, 0.0, 5.0, 0x7FC00000, 0x7F800000]> : tensor<6xf32>
  %r = stablehlo.sign %x : tensor<6xf32>
  check.expect_eq_const %r, dense<[-1.0, -0.0, 0.0, 1.0, 0x7FC00000, 1.0]> : tensor<6xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[-1.0e-300, 2.0]> : tensor<2xf64>
  %r = stablehlo.sign %x : tensor<2xf64>
  check.expect_eq_const %r, dense<[-1.0, 1.0]> : tensor<2xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (0.0, 0.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.sign %x : tensor<2xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.6, 0.8), (0.0, 0.0)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 1 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  func.return
}
