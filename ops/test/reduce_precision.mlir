// Rounded to a format of so many bits.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @to_f16() {
  %x = stablehlo.constant dense<[1.0009766, 1.0004883, 65520.0, -65519.0, 0.1, 0x7FC00000]> : tensor<6xf32>
  %r = stablehlo.reduce_precision %x, format = e5m10 : tensor<6xf32>
  check.expect_eq_const %r, dense<[1.0009766, 1.0, 0x7F800000, -65504.0, 0.099975586, 0x7FC00000]> : tensor<6xf32>
  func.return
}

// -----

func.func @to_bf16() {
  %x = stablehlo.constant dense<[0.1, 1.0039062, -3.3]> : tensor<3xf32>
  %r = stablehlo.reduce_precision %x, format = e8m7 : tensor<3xf32>
  check.expect_eq_const %r, dense<[0.100097656, 1.0, -3.296875]> : tensor<3xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.1, 1.0e+300]> : tensor<2xf64>
  %r = stablehlo.reduce_precision %x, format = e8m23 : tensor<2xf64>
  check.expect_eq_const %r, dense<[0.10000000149011612, 0x7FF0000000000000]> : tensor<2xf64>
  func.return
}
