// Sums: integers wrap, truth is or-ed.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[1, 127, -128]> : tensor<3xi8>
  %y = stablehlo.constant dense<[2, 1, -1]> : tensor<3xi8>
  %r = stablehlo.add %x, %y : tensor<3xi8>
  check.expect_eq_const %r, dense<[3, -128, 127]> : tensor<3xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[255, 3]> : tensor<2xui8>
  %y = stablehlo.constant dense<[1, 4]> : tensor<2xui8>
  %r = stablehlo.add %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[0, 7]> : tensor<2xui8>
  func.return
}

// -----

func.func @i1() {
  %x = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %y = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %r = stablehlo.add %x, %y : tensor<3xi1>
  check.expect_eq_const %r, dense<[true, true, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[4611686018427387904]> : tensor<1xi64>
  %y = stablehlo.constant dense<[4611686018427387904]> : tensor<1xi64>
  %r = stablehlo.add %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[-9223372036854775808]> : tensor<1xi64>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.5, 0x7F800000, 0x7F800000]> : tensor<3xf32>
  %y = stablehlo.constant dense<[2.0, 1.0, 0xFF800000]> : tensor<3xf32>
  %r = stablehlo.add %x, %y : tensor<3xf32>
  check.expect_eq_const %r, dense<[3.5, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[1.0, 256.0]> : tensor<2xbf16>
  %y = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xbf16>
  %r = stablehlo.add %x, %y : tensor<2xbf16>
  check.expect_eq_const %r, dense<[2.0, 256.0]> : tensor<2xbf16>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[1.5]> : tensor<1xf16>
  %y = stablehlo.constant dense<[2.0]> : tensor<1xf16>
  %r = stablehlo.add %x, %y : tensor<1xf16>
  check.expect_eq_const %r, dense<[3.5]> : tensor<1xf16>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.1]> : tensor<1xf64>
  %y = stablehlo.constant dense<[0.2]> : tensor<1xf64>
  %r = stablehlo.add %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[0.30000000000000004]> : tensor<1xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.add %x, %y : tensor<1xcomplex<f32>>
  check.expect_eq_const %r, dense<[(4.0, -2.0)]> : tensor<1xcomplex<f32>>
  func.return
}
