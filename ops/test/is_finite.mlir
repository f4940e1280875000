// Neither infinite nor NaN.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f16() {
  %x = stablehlo.constant dense<[1.0, 0x7C00, 0xFC00, 0x7E00, 0.0]> : tensor<5xf16>
  %r = stablehlo.is_finite %x : (tensor<5xf16>) -> tensor<5xi1>
  check.expect_eq_const %r, dense<[true, false, false, false, true]> : tensor<5xi1>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[1.0, 0x7F80, 0xFF80, 0x7FC0, 0.0]> : tensor<5xbf16>
  %r = stablehlo.is_finite %x : (tensor<5xbf16>) -> tensor<5xi1>
  check.expect_eq_const %r, dense<[true, false, false, false, true]> : tensor<5xi1>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000, 0.0]> : tensor<5xf32>
  %r = stablehlo.is_finite %x : (tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %r, dense<[true, false, false, false, true]> : tensor<5xi1>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0.0]> : tensor<5xf64>
  %r = stablehlo.is_finite %x : (tensor<5xf64>) -> tensor<5xi1>
  check.expect_eq_const %r, dense<[true, false, false, false, true]> : tensor<5xi1>
  func.return
}
