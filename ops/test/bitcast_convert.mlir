// The same bits under another type; a dimension comes or goes with the width.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @same_width() {
  %x = stablehlo.constant dense<[1.0, -0.0, 0x7F800000]> : tensor<3xf32>
  %r = stablehlo.bitcast_convert %x : (tensor<3xf32>) -> tensor<3xi32>
  check.expect_eq_const %r, dense<[1065353216, -2147483648, 2139095040]> : tensor<3xi32>
  func.return
}

// -----

func.func @narrower() {
  %x = stablehlo.constant dense<[16909060, -1]> : tensor<2xi32>
  %r = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x4xi8>
  check.expect_eq_const %r, dense<[[4, 3, 2, 1], [-1, -1, -1, -1]]> : tensor<2x4xi8>
  func.return
}

// -----

func.func @wider() {
  %x = stablehlo.constant dense<[[1, 2], [3, 0]]> : tensor<2x2xui16>
  %r = stablehlo.bitcast_convert %x : (tensor<2x2xui16>) -> tensor<2xui32>
  check.expect_eq_const %r, dense<[131073, 3]> : tensor<2xui32>
  func.return
}

// -----

func.func @to_float() {
  %x = stablehlo.constant dense<[4611686018427387904]> : tensor<1xi64>
  %r = stablehlo.bitcast_convert %x : (tensor<1xi64>) -> tensor<1xf64>
  check.expect_eq_const %r, dense<[2.0]> : tensor<1xf64>
  func.return
}
