// Bits to the right with zeros; past the width nothing is left.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[-16, 16, -1, -16]> : tensor<4xi8>
  %y = stablehlo.constant dense<[2, 2, 7, 8]> : tensor<4xi8>
  %r = stablehlo.shift_right_logical %x, %y : tensor<4xi8>
  check.expect_eq_const %r, dense<[60, 4, 1, 0]> : tensor<4xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[128, 255]> : tensor<2xui8>
  %y = stablehlo.constant dense<[1, 4]> : tensor<2xui8>
  %r = stablehlo.shift_right_logical %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[64, 15]> : tensor<2xui8>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[-1]> : tensor<1xi64>
  %y = stablehlo.constant dense<[63]> : tensor<1xi64>
  %r = stablehlo.shift_right_logical %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[1]> : tensor<1xi64>
  func.return
}
