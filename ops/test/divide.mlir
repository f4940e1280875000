// Quotients: of integers towards zero, by zero all ones, the least by -1 itself.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[7, -7, 7, 5, -128]> : tensor<5xi8>
  %y = stablehlo.constant dense<[2, 2, -2, 0, -1]> : tensor<5xi8>
  %r = stablehlo.divide %x, %y : tensor<5xi8>
  check.expect_eq_const %r, dense<[3, -3, -3, -1, -128]> : tensor<5xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[200, 5]> : tensor<2xui8>
  %y = stablehlo.constant dense<[7, 0]> : tensor<2xui8>
  %r = stablehlo.divide %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[28, 255]> : tensor<2xui8>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[-9]> : tensor<1xi64>
  %y = stablehlo.constant dense<[4]> : tensor<1xi64>
  %r = stablehlo.divide %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[-2]> : tensor<1xi64>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 1.0, 0.0, -1.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[4.0, 0.0, 0.0, 0.0]> : tensor<4xf32>
  %r = stablehlo.divide %x, %y : tensor<4xf32>
  check.expect_eq_const %r, dense<[0.25, 0x7F800000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0]> : tensor<1xf64>
  %y = stablehlo.constant dense<[3.0]> : tensor<1xf64>
  %r = stablehlo.divide %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[0.3333333333333333]> : tensor<1xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(11.0, 2.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.constant dense<[(3.0, -4.0)]> : tensor<1xcomplex<f32>>
  %r = stablehlo.divide %x, %y : tensor<1xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<1xcomplex<f32>>, tensor<1xcomplex<f32>>
  func.return
}
