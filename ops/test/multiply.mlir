// Products: integers wrap, truth is and-ed.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[16, -3]> : tensor<2xi8>
  %y = stablehlo.constant dense<[16, 5]> : tensor<2xi8>
  %r = stablehlo.multiply %x, %y : tensor<2xi8>
  check.expect_eq_const %r, dense<[0, -15]> : tensor<2xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[200]> : tensor<1xui8>
  %y = stablehlo.constant dense<[2]> : tensor<1xui8>
  %r = stablehlo.multiply %x, %y : tensor<1xui8>
  check.expect_eq_const %r, dense<[144]> : tensor<1xui8>
  func.return
}

// -----

func.func @i1() {
  %x = stablehlo.constant dense<[true, true, false]> : tensor<3xi1>
  %y = stablehlo.constant dense<[true, false, false]> : tensor<3xi1>
  %r = stablehlo.multiply %x, %y : tensor<3xi1>
  check.expect_eq_const %r, dense<[true, false, false]> : tensor<3xi1>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[8589934592]> : tensor<1xi64>
  %y = stablehlo.constant dense<[8589934592]> : tensor<1xi64>
  %r = stablehlo.multiply %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[0]> : tensor<1xi64>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.5, 0x7F800000]> : tensor<2xf32>
  %y = stablehlo.constant dense<[2.0, 0.0]> : tensor<2xf32>
  %r = stablehlo.multiply %x, %y : tensor<2xf32>
  check.expect_eq_const %r, dense<[3.0, 0x7FC00000]> : tensor<2xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.1]> : tensor<1xf64>
  %y = stablehlo.constant dense<[3.0]> : tensor<1xf64>
  %r = stablehlo.multiply %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[0.30000000000000004]> : tensor<1xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.multiply %x, %y : tensor<1xcomplex<f32>>
  check.expect_eq_const %r, dense<[(11.0, 2.0)]> : tensor<1xcomplex<f32>>
  func.return
}
