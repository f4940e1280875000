// Powers: integers by repeated multiplication, negative exponents towards zero.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[2, -3, 2, 1, -1, -1, 0, 0]> : tensor<8xi8>
  %y = stablehlo.constant dense<[6, 3, -1, -5, -3, -4, 0, -2]> : tensor<8xi8>
  %r = stablehlo.power %x, %y : tensor<8xi8>
  check.expect_eq_const %r, dense<[64, -27, 0, 1, -1, 1, 1, 0]> : tensor<8xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[2, 3]> : tensor<2xui8>
  %y = stablehlo.constant dense<[7, 6]> : tensor<2xui8>
  %r = stablehlo.power %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[128, 217]> : tensor<2xui8>
  func.return
}

// -----

func.func @i32() {
  %x = stablehlo.constant dense<[7]> : tensor<1xi32>
  %y = stablehlo.constant dense<[11]> : tensor<1xi32>
  %r = stablehlo.power %x, %y : tensor<1xi32>
  check.expect_eq_const %r, dense<[1977326743]> : tensor<1xi32>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[2.0, 2.0, 9.0, -2.0, 0.5]> : tensor<5xf32>
  %y = stablehlo.constant dense<[3.0, -1.0, 0.5, 3.0, 2.5]> : tensor<5xf32>
  %r = stablehlo.power %x, %y : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[8.0, 0.5, 3.0, -8.0, 0.17677669]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[2.5]> : tensor<1xf64>
  %y = stablehlo.constant dense<[3.5]> : tensor<1xf64>
  %r = stablehlo.power %x, %y : tensor<1xf64>
  %expected1 = stablehlo.constant dense<[24.705294220065465]> : tensor<1xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<1xf64>, tensor<1xf64>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(1.0, 1.0)]> : tensor<1xcomplex<f64>>
  %y = stablehlo.constant dense<[(2.0, 0.5)]> : tensor<1xcomplex<f64>>
  %r = stablehlo.power %x, %y : tensor<1xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(-0.23284811131563163, 1.3302384252910187)]> : tensor<1xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<1xcomplex<f64>>, tensor<1xcomplex<f64>>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, 0x7FC00000, 0x7F800000, -1.0, 0.0, 1.0]> : tensor<6xf32>
  %y = stablehlo.constant dense<[0.0, 0.0, -1.0, 0x7F800000, -1.0, 0x7FC00000]> : tensor<6xf32>
  %r = stablehlo.power %x, %y : tensor<6xf32>
  check.expect_eq_const %r, dense<[1.0, 1.0, 0.0, 1.0, 0x7F800000, 1.0]> : tensor<6xf32>
  func.return
}
