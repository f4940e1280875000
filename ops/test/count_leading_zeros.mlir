// Zero bits above the highest one; all of them for zero.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[0, 1, -1, 64]> : tensor<4xi8>
  %r = stablehlo.count_leading_zeros %x : tensor<4xi8>
  check.expect_eq_const %r, dense<[8, 7, 0, 1]> : tensor<4xi8>
  func.return
}

// -----

func.func @ui16() {
  %x = stablehlo.constant dense<[0, 1, 65535, 300]> : tensor<4xui16>
  %r = stablehlo.count_leading_zeros %x : tensor<4xui16>
  check.expect_eq_const %r, dense<[16, 15, 0, 7]> : tensor<4xui16>
  func.return
}

// -----

func.func @i32() {
  %x = stablehlo.constant dense<[0, 1, -1, 1048576]> : tensor<4xi32>
  %r = stablehlo.count_leading_zeros %x : tensor<4xi32>
  check.expect_eq_const %r, dense<[32, 31, 0, 11]> : tensor<4xi32>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[0, 1, -5, 1099511627776]> : tensor<4xi64>
  %r = stablehlo.count_leading_zeros %x : tensor<4xi64>
  check.expect_eq_const %r, dense<[64, 63, 0, 23]> : tensor<4xi64>
  func.return
}
