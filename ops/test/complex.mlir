// Complex numbers of two parts.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, -2.5]> : tensor<2xf32>
  %y = stablehlo.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %r = stablehlo.complex %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.0, 3.0), (-2.5, 4.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0]> : tensor<1xf64>
  %y = stablehlo.constant dense<[3.0]> : tensor<1xf64>
  %r = stablehlo.complex %x, %y : (tensor<1xf64>, tensor<1xf64>) -> tensor<1xcomplex<f64>>
  check.expect_eq_const %r, dense<[(1.0, 3.0)]> : tensor<1xcomplex<f64>>
  func.return
}
