// The greater one; NaN wins.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[1, -5]> : tensor<2xi8>
  %y = stablehlo.constant dense<[2, -6]> : tensor<2xi8>
  %r = stablehlo.maximum %x, %y : tensor<2xi8>
  check.expect_eq_const %r, dense<[2, -5]> : tensor<2xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[255]> : tensor<1xui8>
  %y = stablehlo.constant dense<[1]> : tensor<1xui8>
  %r = stablehlo.maximum %x, %y : tensor<1xui8>
  check.expect_eq_const %r, dense<[255]> : tensor<1xui8>
  func.return
}

// -----

func.func @i1() {
  %x = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %y = stablehlo.constant dense<[true, true]> : tensor<2xi1>
  %r = stablehlo.maximum %x, %y : tensor<2xi1>
  check.expect_eq_const %r, dense<[true, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 0x7FC00000, 2.0, 0xFF800000]> : tensor<4xf32>
  %y = stablehlo.constant dense<[2.0, 1.0, 0x7FC00000, 3.0]> : tensor<4xf32>
  %r = stablehlo.maximum %x, %y : tensor<4xf32>
  check.expect_eq_const %r, dense<[2.0, 0x7FC00000, 0x7FC00000, 3.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.5]> : tensor<1xf64>
  %y = stablehlo.constant dense<[-2.0]> : tensor<1xf64>
  %r = stablehlo.maximum %x, %y : tensor<1xf64>
  check.expect_eq_const %r, dense<[1.5]> : tensor<1xf64>
  func.return
}
