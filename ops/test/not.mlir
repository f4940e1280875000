// Bits, or truth, inverted.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i1() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %r = stablehlo.not %x : tensor<2xi1>
  check.expect_eq_const %r, dense<[false, true]> : tensor<2xi1>
  func.return
}

// -----

func.func @i8() {
  %x = stablehlo.constant dense<[0, -1, 5]> : tensor<3xi8>
  %r = stablehlo.not %x : tensor<3xi8>
  check.expect_eq_const %r, dense<[-1, 0, -6]> : tensor<3xi8>
  func.return
}

// -----

func.func @ui16() {
  %x = stablehlo.constant dense<[0, 65535, 1]> : tensor<3xui16>
  %r = stablehlo.not %x : tensor<3xui16>
  check.expect_eq_const %r, dense<[65535, 0, 65534]> : tensor<3xui16>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[7]> : tensor<1xi64>
  %r = stablehlo.not %x : tensor<1xi64>
  check.expect_eq_const %r, dense<[-8]> : tensor<1xi64>
  func.return
}
