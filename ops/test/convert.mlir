// From every kind of type to every other: rounding to even, towards zero for integers, saturating, wrapping.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32_to_i32() {
  %x = stablehlo.constant dense<[1.9, -1.9, 0.0, 1.0e+20, -1.0e+20, 0x7FC00000]> : tensor<6xf32>
  %r = stablehlo.convert %x : (tensor<6xf32>) -> tensor<6xi32>
  check.expect_eq_const %r, dense<[1, -1, 0, 2147483647, -2147483648, 0]> : tensor<6xi32>
  func.return
}

// -----

func.func @f64_to_i8() {
  %x = stablehlo.constant dense<[127.9, -128.5, 300.0, -300.0]> : tensor<4xf64>
  %r = stablehlo.convert %x : (tensor<4xf64>) -> tensor<4xi8>
  check.expect_eq_const %r, dense<[127, -128, 127, -128]> : tensor<4xi8>
  func.return
}

// -----

func.func @f32_to_ui8() {
  %x = stablehlo.constant dense<[255.9, -1.0, 300.0, 7.5]> : tensor<4xf32>
  %r = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %r, dense<[255, 0, 255, 7]> : tensor<4xui8>
  func.return
}

// -----

func.func @i32_to_i8() {
  %x = stablehlo.constant dense<[300, -129, 127]> : tensor<3xi32>
  %r = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %r, dense<[44, 127, 127]> : tensor<3xi8>
  func.return
}

// -----

func.func @i8_to_i64() {
  %x = stablehlo.constant dense<[-1, 127]> : tensor<2xi8>
  %r = stablehlo.convert %x : (tensor<2xi8>) -> tensor<2xi64>
  check.expect_eq_const %r, dense<[-1, 127]> : tensor<2xi64>
  func.return
}

// -----

func.func @ui8_to_i32() {
  %x = stablehlo.constant dense<[255, 3]> : tensor<2xui8>
  %r = stablehlo.convert %x : (tensor<2xui8>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[255, 3]> : tensor<2xi32>
  func.return
}

// -----

func.func @i64_to_f32() {
  %x = stablehlo.constant dense<[16777217, -3]> : tensor<2xi64>
  %r = stablehlo.convert %x : (tensor<2xi64>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[1.6777216e+07, -3.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @i32_to_f64() {
  %x = stablehlo.constant dense<[2147483647, -7]> : tensor<2xi32>
  %r = stablehlo.convert %x : (tensor<2xi32>) -> tensor<2xf64>
  check.expect_eq_const %r, dense<[2147483647.0, -7.0]> : tensor<2xf64>
  func.return
}

// -----

func.func @f64_to_f32() {
  %x = stablehlo.constant dense<[0.1, 1.0e+300, -1.0e+300]> : tensor<3xf64>
  %r = stablehlo.convert %x : (tensor<3xf64>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0.1, 0x7F800000, 0xFF800000]> : tensor<3xf32>
  func.return
}

// -----

func.func @f32_to_bf16() {
  %x = stablehlo.constant dense<[1.0039062, 1.0117188, 3.0e+38]> : tensor<3xf32>
  %r = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  check.expect_eq_const %r, dense<[1.0, 1.015625, 3.00405527047391e+38]> : tensor<3xbf16>
  func.return
}

// -----

func.func @f32_to_f16() {
  %x = stablehlo.constant dense<[65519.0, 65520.0, 1.0e-08]> : tensor<3xf32>
  %r = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xf16>
  check.expect_eq_const %r, dense<[65504.0, 0x7C00, 0.0]> : tensor<3xf16>
  func.return
}

// -----

func.func @i1_to_i32() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r = stablehlo.convert %x : (tensor<2xi1>) -> tensor<2xi32>
  check.expect_eq_const %r, dense<[1, 0]> : tensor<2xi32>
  func.return
}

// -----

func.func @i1_to_f32() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r = stablehlo.convert %x : (tensor<2xi1>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[1.0, 0.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @f32_to_i1() {
  %x = stablehlo.constant dense<[0.0, 0.5, 0x7FC00000, -0.0]> : tensor<4xf32>
  %r = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %r, dense<[false, true, true, false]> : tensor<4xi1>
  func.return
}

// -----

func.func @i32_to_i1() {
  %x = stablehlo.constant dense<[0, 2, -1]> : tensor<3xi32>
  %r = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi1>
  check.expect_eq_const %r, dense<[false, true, true]> : tensor<3xi1>
  func.return
}

// -----

func.func @f32_to_complex_f32() {
  %x = stablehlo.constant dense<[1.5, -2.0]> : tensor<2xf32>
  %r = stablehlo.convert %x : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.5, 0.0), (-2.0, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64_to_complex_f32() {
  %x = stablehlo.constant dense<[(1.5, -2.0), (0.0, 0.1)]> : tensor<2xcomplex<f64>>
  %r = stablehlo.convert %x : (tensor<2xcomplex<f64>>) -> tensor<2xcomplex<f32>>
  check.expect_eq_const %r, dense<[(1.5, -2.0), (0.0, 0.1)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @f32_to_f8E4M3FN() {
  %x = stablehlo.constant dense<[1.06, 448.0, 0.0]> : tensor<3xf32>
  %r = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  check.expect_eq_const %r, dense<[1.0, 448.0, 0.0]> : tensor<3xf8E4M3FN>
  func.return
}

// -----

func.func @f8E5M2_to_f32() {
  %x = stablehlo.constant dense<[1.25, -57344.0]> : tensor<2xf8E5M2>
  %r = stablehlo.convert %x : (tensor<2xf8E5M2>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[1.25, -57344.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @i32_to_i4() {
  %x = stablehlo.constant dense<[7, 9, -8]> : tensor<3xi32>
  %r = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi4>
  check.expect_eq_const %r, dense<[7, -7, -8]> : tensor<3xi4>
  func.return
}
