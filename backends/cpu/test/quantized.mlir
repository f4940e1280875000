// Quantized arrays, compiled and by the reference evaluator. Expected integers are worked out by
// hand: real = (stored - zero point) * scale.
// RUN: isthmus-run --backend cpu --split --quiet %s
// RUN: isthmus-run --backend reference --split --quiet %s

// 1.26 / 0.5 = 2.52 -> 3; half goes to even: 1.25 / 0.5 = 2.5 -> 2; what is out of range stops there.
func.func @quantizes_to_nearest_even_and_saturates() {
  %x = stablehlo.constant dense<[1.26, 1.25, 1.75, -1000.0, 1000.0, 0x7F800000]> : tensor<6xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<6xf32>) -> tensor<6x!quant.uniform<i8:f32, 0.5>>
  %i = stablehlo.bitcast_convert %q : (tensor<6x!quant.uniform<i8:f32, 0.5>>) -> tensor<6xi8>
  check.expect_eq_const %i, dense<[3, 2, 4, -128, 127, 127]> : tensor<6xi8>
  func.return
}

// -----

// Storage that is narrower than its integers: 4 bits in [-7, 7].
func.func @respects_the_range_of_storage() {
  %x = stablehlo.constant dense<[-100.0, 100.0]> : tensor<2xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8<-7:7>:f32, 0.5:2>>
  %i = stablehlo.bitcast_convert %q : (tensor<2x!quant.uniform<i8<-7:7>:f32, 0.5:2>>) -> tensor<2xi8>
  check.expect_eq_const %i, dense<[-7, 7]> : tensor<2xi8>
  func.return
}

// -----

// (200 - 3) * 0.25 of unsigned storage; the difference does not wrap.
func.func @dequantizes_unsigned_storage() {
  %i = stablehlo.constant dense<[0, 3, 200]> : tensor<3xui8>
  %q = stablehlo.bitcast_convert %i : (tensor<3xui8>) -> tensor<3x!quant.uniform<u8:f32, 0.25:3>>
  %x = stablehlo.uniform_dequantize %q : (tensor<3x!quant.uniform<u8:f32, 0.25:3>>) -> tensor<3xf32>
  check.expect_eq_const %x, dense<[-0.75, 0.0, 49.25]> : tensor<3xf32>
  func.return
}

// -----

// Columns have scales of their own, which stay with them when the array is transposed. Rounding is
// last: 1 / 2 - 3 = -2.5 -> -2.
func.func @moves_per_axis_arrays() {
  %x = stablehlo.constant dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf32>
  %q = stablehlo.uniform_quantize %x : (tensor<2x3xf32>) -> tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25:1, 2.0:-3}>>
  %t = stablehlo.transpose %q, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25:1, 2.0:-3}>>) -> tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1, 2.0:-3}>>
  %i = stablehlo.bitcast_convert %t : (tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1, 2.0:-3}>>) -> tensor<3x2xi8>
  check.expect_eq_const %i, dense<[[2, 4], [5, 9], [-2, -2]]> : tensor<3x2xi8>
  %y = stablehlo.uniform_dequantize %t : (tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.25:1, 2.0:-3}>>) -> tensor<3x2xf32>
  check.expect_eq_const %y, dense<[[1.0, 2.0], [1.0, 2.0], [2.0, 2.0]]> : tensor<3x2xf32>
  func.return
}

// -----

// Reals [1, 2; 3, 4] · [1, -1] = [-1, -1], stored with zero point 10 and scale 0.5.
func.func @contracts_reals() {
  %a = stablehlo.constant dense<[[4, 8], [12, 16]]> : tensor<2x2xi8>
  %b = stablehlo.constant dense<[2, -2]> : tensor<2xi8>
  %qa = stablehlo.bitcast_convert %a : (tensor<2x2xi8>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  %qb = stablehlo.bitcast_convert %b : (tensor<2xi8>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  %qc = stablehlo.dot_general %qa, %qb, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.25>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i32:f32, 0.5:10>>
  %c = stablehlo.bitcast_convert %qc : (tensor<2x!quant.uniform<i32:f32, 0.5:10>>) -> tensor<2xi32>
  check.expect_eq_const %c, dense<8> : tensor<2xi32>
  func.return
}

// -----

// The region works on scalars of the quantized type: stored 3 and 5 around zero point 1 are 2 and
// 4, their sum 6 is stored as 7; so is 7 + 1, as 8.
func.func @computes_in_regions() {
  %i = stablehlo.constant dense<[3, 5, 2]> : tensor<3xi8>
  %z = stablehlo.constant dense<1> : tensor<i8>
  %q = stablehlo.bitcast_convert %i : (tensor<3xi8>) -> tensor<3x!quant.uniform<i8:f32, 1.0:1>>
  %qz = stablehlo.bitcast_convert %z : (tensor<i8>) -> tensor<!quant.uniform<i8:f32, 1.0:1>>
  %sum = stablehlo.reduce(%q init: %qz) applies stablehlo.add across dimensions = [0] : (tensor<3x!quant.uniform<i8:f32, 1.0:1>>, tensor<!quant.uniform<i8:f32, 1.0:1>>) -> tensor<!quant.uniform<i8:f32, 1.0:1>>
  %s = stablehlo.bitcast_convert %sum : (tensor<!quant.uniform<i8:f32, 1.0:1>>) -> tensor<i8>
  check.expect_eq_const %s, dense<8> : tensor<i8>
  %m = "stablehlo.map"(%q) ({
  ^bb0(%e: tensor<!quant.uniform<i8:f32, 1.0:1>>):
    %d = stablehlo.add %e, %e : tensor<!quant.uniform<i8:f32, 1.0:1>>
    stablehlo.return %d : tensor<!quant.uniform<i8:f32, 1.0:1>>
  }) {dimensions = array<i64: 0>} : (tensor<3x!quant.uniform<i8:f32, 1.0:1>>) -> tensor<3x!quant.uniform<i8:f32, 1.0:1>>
  %mi = stablehlo.bitcast_convert %m : (tensor<3x!quant.uniform<i8:f32, 1.0:1>>) -> tensor<3xi8>
  check.expect_eq_const %mi, dense<[5, 9, 3]> : tensor<3xi8>
  func.return
}
