// Bits to the right with copies of the sign; past the width copies alone.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[-16, 16, -1, -16, 64]> : tensor<5xi8>
  %y = stablehlo.constant dense<[2, 2, 7, 8, -1]> : tensor<5xi8>
  %r = stablehlo.shift_right_arithmetic %x, %y : tensor<5xi8>
  check.expect_eq_const %r, dense<[-4, 4, -1, -1, 0]> : tensor<5xi8>
  func.return
}

// -----

func.func @ui8() {
  %x = stablehlo.constant dense<[128, 64]> : tensor<2xui8>
  %y = stablehlo.constant dense<[1, 1]> : tensor<2xui8>
  %r = stablehlo.shift_right_arithmetic %x, %y : tensor<2xui8>
  check.expect_eq_const %r, dense<[192, 32]> : tensor<2xui8>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[-1099511627776]> : tensor<1xi64>
  %y = stablehlo.constant dense<[39]> : tensor<1xi64>
  %r = stablehlo.shift_right_arithmetic %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[-2]> : tensor<1xi64>
  func.return
}
