// To the nearest integer, ties away from zero.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f16() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.39990234375, -0.60009765625, 1.5]> : tensor<6xf16>
  %r = stablehlo.round_nearest_afz %x : tensor<6xf16>
  check.expect_eq_const %r, dense<[3.0, 4.0, -3.0, 0.0, -1.0, 2.0]> : tensor<6xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.400390625, -0.6015625, 1.5]> : tensor<6xbf16>
  %r = stablehlo.round_nearest_afz %x : tensor<6xbf16>
  check.expect_eq_const %r, dense<[3.0, 4.0, -3.0, 0.0, -1.0, 2.0]> : tensor<6xbf16>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.4, -0.6, 1.5]> : tensor<6xf32>
  %r = stablehlo.round_nearest_afz %x : tensor<6xf32>
  check.expect_eq_const %r, dense<[3.0, 4.0, -3.0, 0.0, -1.0, 2.0]> : tensor<6xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[2.5, 3.5, -2.5, 0.4, -0.6, 1.5]> : tensor<6xf64>
  %r = stablehlo.round_nearest_afz %x : tensor<6xf64>
  check.expect_eq_const %r, dense<[3.0, 4.0, -3.0, 0.0, -1.0, 2.0]> : tensor<6xf64>
  func.return
}

// -----

func.func @just_below_a_half() {
  %x = stablehlo.constant dense<[0.49999997, -0.49999997]> : tensor<2xf32>
  %r = stablehlo.round_nearest_afz %x : tensor<2xf32>
  check.expect_eq_const %r, dense<[0.0, -0.0]> : tensor<2xf32>
  func.return
}
