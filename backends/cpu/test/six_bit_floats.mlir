// The 6-bit floats, which JAX's client cannot carry: rounding to even, saturation, signed zeros.
// RUN: isthmus-run --backend cpu --split --quiet %s
// RUN: isthmus-run --backend reference --split --quiet %s

// Steps of 0.125 up to 2, of 0.25 up to 4, of 0.5 up to 7.5, the largest.
func.func @f6e2m3fn() {
  %x = stablehlo.constant dense<[0.0625, 0.19, -0.0, 1.0625, 1.1875, 3.1, 7.7, -100.0]> : tensor<8xf32>
  %n = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xf6E2M3FN>
  %y = stablehlo.convert %n : (tensor<8xf6E2M3FN>) -> tensor<8xf32>
  check.expect_eq_const %y, dense<[0.0, 0.25, -0.0, 1.0, 1.25, 3.0, 7.5, -7.5]> : tensor<8xf32>
  %s = stablehlo.add %n, %n : tensor<8xf6E2M3FN>
  %t = stablehlo.convert %s : (tensor<8xf6E2M3FN>) -> tensor<8xf32>
  check.expect_eq_const %t, dense<[0.0, 0.5, -0.0, 2.0, 2.5, 6.0, 7.5, -7.5]> : tensor<8xf32>
  func.return
}

// -----

// Steps of 0.0625 up to 0.5, then a quarter of the power of two, up to 28.
func.func @f6e3m2fn() {
  %x = stablehlo.constant dense<[0.03125, 0.1, -0.0, 1.125, 1.375, 9.1, 30.0, -1.0e9]> : tensor<8xf32>
  %n = stablehlo.convert %x : (tensor<8xf32>) -> tensor<8xf6E3M2FN>
  %y = stablehlo.convert %n : (tensor<8xf6E3M2FN>) -> tensor<8xf32>
  check.expect_eq_const %y, dense<[0.0, 0.125, -0.0, 1.0, 1.5, 10.0, 28.0, -28.0]> : tensor<8xf32>
  %m = stablehlo.multiply %n, %n : tensor<8xf6E3M2FN>
  %t = stablehlo.convert %m : (tensor<8xf6E3M2FN>) -> tensor<8xf32>
  check.expect_eq_const %t, dense<[0.0, 0.0, 0.0, 1.0, 2.0, 28.0, 28.0, 28.0]> : tensor<8xf32>
  func.return
}
