// Logarithms of the gamma function's absolute value.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.5, 3.0, 10.0, 100.5, -0.5]> : tensor<5xf32>
  %r = chlo.lgamma %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.5723649, 0.6931472, 12.801827, 361.43555, 1.2655121]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.5, 3.0, 10.0, 100.5, -0.5]> : tensor<5xf64>
  %r = chlo.lgamma %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.5723649429247004, 0.693147180559945, 12.801827480081467, 361.4355404677776, 1.265512123484645]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.lgamma %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}
