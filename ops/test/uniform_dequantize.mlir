// Scaled integers to numbers: (q - zero point) × scale.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @by_one_scale() {
  %x = stablehlo.constant dense<[-3, -1, 127]> : tensor<3xi8>
  %q = stablehlo.bitcast_convert %x : (tensor<3xi8>) -> tensor<3x!quant.uniform<i8:f32, 0.5:-3>>
  %r = stablehlo.uniform_dequantize %q : (tensor<3x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0.0, 1.0, 65.0]> : tensor<3xf32>
  func.return
}

// -----

func.func @by_axis() {
  %x = stablehlo.constant dense<[[-1, 1], [14, 18]]> : tensor<2x2xi8>
  %q = stablehlo.bitcast_convert %x : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10}>>
  %r = stablehlo.uniform_dequantize %q : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10}>>) -> tensor<2x2xf32>
  check.expect_eq_const %r, dense<[[1.0, 2.0], [1.0, 2.0]]> : tensor<2x2xf32>
  func.return
}
