// Bits that are one.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[0, -1, 5]> : tensor<3xi8>
  %r = stablehlo.popcnt %x : tensor<3xi8>
  check.expect_eq_const %r, dense<[0, 8, 2]> : tensor<3xi8>
  func.return
}

// -----

func.func @ui16() {
  %x = stablehlo.constant dense<[65535, 256]> : tensor<2xui16>
  %r = stablehlo.popcnt %x : tensor<2xui16>
  check.expect_eq_const %r, dense<[16, 1]> : tensor<2xui16>
  func.return
}

// -----

func.func @i32() {
  %x = stablehlo.constant dense<[-1, 7]> : tensor<2xi32>
  %r = stablehlo.popcnt %x : tensor<2xi32>
  check.expect_eq_const %r, dense<[32, 3]> : tensor<2xi32>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[-1, 1099511627777]> : tensor<2xi64>
  %r = stablehlo.popcnt %x : tensor<2xi64>
  check.expect_eq_const %r, dense<[64, 2]> : tensor<2xi64>
  func.return
}
