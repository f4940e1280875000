// Numbers to scaled integers: round(x / scale) + zero point, clamped; of quantized ones by their numbers.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @by_one_scale() {
  %x = stablehlo.constant dense<[0.0, 1.0, -2.25, 100.0, -100.0]> : tensor<5xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<5xf32>) -> tensor<5x!quant.uniform<i8:f32, 0.5:-3>>
  %r = stablehlo.bitcast_convert %q : (tensor<5x!quant.uniform<i8:f32, 0.5:-3>>) -> tensor<5xi8>
  check.expect_eq_const %r, dense<[-3, -1, -8, 127, -128]> : tensor<5xi8>
  func.return
}

// -----

func.func @by_axis() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [1.0, 2.0]]> : tensor<2x2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10}>>
  %r = stablehlo.bitcast_convert %q : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5:-3,0.25:10}>>) -> tensor<2x2xi8>
  check.expect_eq_const %r, dense<[[-1, 1], [14, 18]]> : tensor<2x2xi8>
  func.return
}
