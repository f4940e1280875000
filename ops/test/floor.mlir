// The next integer below.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f16() {
  %x = stablehlo.constant dense<[1.2001953125, -1.2001953125, 2.0, -0.5, 0.5]> : tensor<5xf16>
  %r = stablehlo.floor %x : tensor<5xf16>
  check.expect_eq_const %r, dense<[1.0, -2.0, 2.0, -1.0, 0.0]> : tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[1.203125, -1.203125, 2.0, -0.5, 0.5]> : tensor<5xbf16>
  %r = stablehlo.floor %x : tensor<5xbf16>
  check.expect_eq_const %r, dense<[1.0, -2.0, 2.0, -1.0, 0.0]> : tensor<5xbf16>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.2, -1.2, 2.0, -0.5, 0.5]> : tensor<5xf32>
  %r = stablehlo.floor %x : tensor<5xf32>
  check.expect_eq_const %r, dense<[1.0, -2.0, 2.0, -1.0, 0.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.2, -1.2, 2.0, -0.5, 0.5]> : tensor<5xf64>
  %r = stablehlo.floor %x : tensor<5xf64>
  check.expect_eq_const %r, dense<[1.0, -2.0, 2.0, -1.0, 0.0]> : tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 3.0e+09]> : tensor<4xf32>
  %r = stablehlo.floor %x : tensor<4xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0xFF800000, 0x7FC00000, 3.0e+09]> : tensor<4xf32>
  func.return
}
