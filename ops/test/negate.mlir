// The sign changed; unsigned numbers wrap.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[1, -128, 5]> : tensor<3xi8>
  %r = stablehlo.negate %x : tensor<3xi8>
  check.expect_eq_const %r, dense<[-1, -128, -5]> : tensor<3xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[1, 0, 255]> : tensor<3xui8>
  %r = stablehlo.negate %x : tensor<3xui8>
  check.expect_eq_const %r, dense<[255, 0, 1]> : tensor<3xui8>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.5, -0.0, 0x7F800000]> : tensor<3xf32>
  %r = stablehlo.negate %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[-1.5, 0.0, 0xFF800000]> : tensor<3xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.5]> : tensor<1xf64>
  %r = stablehlo.negate %x : tensor<1xf64>
  check.expect_eq_const %r, dense<[-1.5]> : tensor<1xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(1.0, -2.0)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.negate %x : tensor<1xcomplex<f32>>
  check.expect_eq_const %r, dense<[(-1.0, 2.0)]> : tensor<1xcomplex<f32>>
  func.return
}
