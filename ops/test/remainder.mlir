// Remainders with the sign of the dividend; by zero the dividend.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[7, -7, 7, 5, -128]> : tensor<5xi8>
  %y = stablehlo.constant dense<[2, 2, -2, 0, -1]> : tensor<5xi8>
  %r = stablehlo.remainder %x, %y : tensor<5xi8>
  check.expect_eq_const %r, dense<[1, -1, 1, 5, 0]> : tensor<5xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[200, 5]> : tensor<2xui8>
  %y = stablehlo.constant dense<[7, 0]> : tensor<2xui8>
  %r = stablehlo.remainder %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[4, 5]> : tensor<2xui8>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[7.5, -7.5, 1.0, 5.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[2.0, 2.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %r = stablehlo.remainder %x, %y : tensor<4xf32>
  check.expect_eq_const %r, dense<[1.5, -1.5, 0x7FC00000, 5.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[5.3]> : tensor<1xf64>
  %y = stablehlo.constant dense<[2.0]> : tensor<1xf64>
  %r = stablehlo.remainder %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[1.2999999999999998]> : tensor<1xf64>
  func.return
}
