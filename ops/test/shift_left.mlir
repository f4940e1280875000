// Bits to the left; past the width nothing is left.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[1, -1, 1, 1]> : tensor<4xi8>
  %y = stablehlo.constant dense<[3, 4, 8, -1]> : tensor<4xi8>
  %r = stablehlo.shift_left %x, %y : tensor<4xi8>
  check.expect_eq_const %r, dense<[8, -16, 0, 0]> : tensor<4xi8>
  func.return
}

// -----

func.func @ui16() {
  %x = stablehlo.constant dense<[1, 3]> : tensor<2xui16>
  %y = stablehlo.constant dense<[15, 16]> : tensor<2xui16>
  %r = stablehlo.shift_left %x, %y : tensor<2xui16>
  check.expect_eq_const %r, dense<[32768, 0]> : tensor<2xui16>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[1]> : tensor<1xi64>
  %y = stablehlo.constant dense<[40]> : tensor<1xi64>
  %r = stablehlo.shift_left %x, %y : tensor<1xi64>
  check.expect_eq_const %r, dense<[1099511627776]> : tensor<1xi64>
  func.return
}
