// Differences: integers wrap.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[1, -128]> : tensor<2xi8>
  %y = stablehlo.constant dense<[2, 1]> : tensor<2xi8>
  %r = stablehlo.subtract %x, %y : tensor<2xi8>
  check.expect_eq_const %r, dense<[-1, 127]> : tensor<2xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[3]> : tensor<1xui8>
  %y = stablehlo.constant dense<[4]> : tensor<1xui8>
  %r = stablehlo.subtract %x, %y : tensor<1xui8>
  check.expect_eq_const %r, dense<[255]> : tensor<1xui8>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.5, 0x7F800000]> : tensor<2xf32>
  %y = stablehlo.constant dense<[2.0, 0x7F800000]> : tensor<2xf32>
  %r = stablehlo.subtract %x, %y : tensor<2xf32>
  check.expect_eq_const %r, dense<[-0.5, 0x7FC00000]> : tensor<2xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.3]> : tensor<1xf64>
  %y = stablehlo.constant dense<[0.1]> : tensor<1xf64>
  %r = stablehlo.subtract %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[0.19999999999999998]> : tensor<1xf64>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f64>>
  %r = stablehlo.subtract %x, %y : tensor<1xcomplex<f64>>
  check.expect_eq_const %r, dense<[(-2.0, 6.0)]> : tensor<1xcomplex<f64>>
  func.return
}
