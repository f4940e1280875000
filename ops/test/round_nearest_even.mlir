// To the nearest integer, ties to even.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f16() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.39990234375, -0.60009765625, 1.5]> : tensor<6xf16>
  %r = stablehlo.round_nearest_even %x : tensor<6xf16>
  check.expect_eq_const %r, dense<[2.0, 4.0, -2.0, 0.0, -1.0, 2.0]> : tensor<6xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.400390625, -0.6015625, 1.5]> : tensor<6xbf16>
  %r = stablehlo.round_nearest_even %x : tensor<6xbf16>
  check.expect_eq_const %r, dense<[2.0, 4.0, -2.0, 0.0, -1.0, 2.0]> : tensor<6xbf16>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.4, -0.6, 1.5]> : tensor<6xf32>
  %r = stablehlo.round_nearest_even %x : tensor<6xf32>
  check.expect_eq_const %r, dense<[2.0, 4.0, -2.0, 0.0, -1.0, 2.0]> : tensor<6xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.4, -0.6, 1.5]> : tensor<6xf64>
  %r = stablehlo.round_nearest_even %x : tensor<6xf64>
  check.expect_eq_const %r, dense<[2.0, 4.0, -2.0, 0.0, -1.0, 2.0]> : tensor<6xf64>
  func.return
}
