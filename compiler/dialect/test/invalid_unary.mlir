// Each rule about operations of one operand is broken once; the message has its label, what it got
// and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @uniform_quantize_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}uniform_quantize_c2: the result expresses 'f64', expected 'f32' as the operand does
  %0 = stablehlo.uniform_quantize %a : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f64, 0.5>>
  return
}

// -----

func.func @accuracy(%a: tensor<4xf32>) {
  // CHECK: error: a result accuracy of mode HIGHEST has a tolerance, expected mode TOLERANCE
  %0 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  return
}

// -----

func.func @accuracy_negative(%a: tensor<4xf32>) {
  // CHECK: error: a result accuracy has a negative tolerance
  %0 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<ulps = -2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  return
}

// -----

func.func @reduce_precision_c2(%a: tensor<4xf32>) {
  // CHECK: error: 'stablehlo.reduce_precision' op attribute 'exponent_bits' failed to satisfy constraint: 32-bit signless integer attribute whose value is positive
  %0 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 0 : i32, mantissa_bits = 2 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_precision_c3(%a: tensor<4xf32>) {
  // CHECK: error: 'stablehlo.reduce_precision' op attribute 'mantissa_bits' failed to satisfy constraint: 32-bit signless integer attribute whose value is non-negative
  %0 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 5 : i32, mantissa_bits = -1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @operand_type(%a: tensor<4xi32>) {
  // CHECK: error: 'stablehlo.sine' op operand #0 must be ranked tensor of float, complex or quantized values, but got 'tensor<4xi32>'
  %0 = stablehlo.sine %a : tensor<4xi32>
  return
}

// -----

// A zero point is a value of the storage type.
func.func @zero_point(%a: tensor<4x!quant.uniform<i8:f32, 0.5:300>>) {
  // CHECK: error: 'stablehlo.negate' op operand #0 must be ranked tensor of integer, float, complex or quantized values, but got 'tensor<4x!quant.uniform<i8:f32, 5.000000e-01:300>>'
  %0 = stablehlo.negate %a : tensor<4x!quant.uniform<i8:f32, 0.5:300>>
  return
}

// -----

func.func @zero_points(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5:-129}>>) {
  // CHECK: error: 'stablehlo.uniform_dequantize' op operand #0 must be ranked tensor of quantized values, but got 'tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01:-129}>>'
  %0 = stablehlo.uniform_dequantize %a : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.5:-129}>>) -> tensor<2xf32>
  return
}

// -----

func.func @storage_type(%a: tensor<4x!quant.uniform<si8:f32, 0.5>>) {
  // CHECK: error: 'stablehlo.uniform_dequantize' op operand #0 must be ranked tensor of quantized values, but got 'tensor<4x!quant.uniform<i8:f32, 5.000000e-01>>'
  %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<si8:f32, 0.5>>) -> tensor<4xf32>
  return
}
