// Each rule about operations of two and three operands is broken once; the message has its label,
// what it got and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @add_c1(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // CHECK: error: {{.*}}add_c1: element types are 'f32', 'f64' and 'f32', expected the same
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @add_c2(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}add_c2: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f32', expected all to be quantized
  %0 = "stablehlo.add"(%a, %b) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<4xf32>
  return
}

// -----

func.func @add_c3(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<ui8:f32, 0.5>>) {
  // CHECK: error: {{.*}}add_c3: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<u8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same storage type
  %0 = "stablehlo.add"(%a, %b) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<ui8:f32, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c4(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %b: tensor<4x!quant.uniform<i8:f64, 0.5>>) {
  // CHECK: error: {{.*}}add_c4: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f64, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same expressed type
  %0 = "stablehlo.add"(%a, %b) : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<4x!quant.uniform<i8:f64, 0.5>>) -> tensor<4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c5(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>, %b: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}add_c5: the result is '!quant.uniform<i8:f32, 5.000000e-01>' for operands '!quant.uniform<i8:f32:0, {5.000000e-01,5.000000e-01}>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected it quantized per axis if one of them is
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @add_c6(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>, %b: tensor<2x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}add_c6: lhs is quantized along dimension 0, expected 1 as the result is
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>
  return
}

// -----

func.func @add_c7(%a: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>) {
  // CHECK: error: {{.*}}add_c7: rhs is quantized along dimension 0, expected 1 as the result is
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>
  return
}

// -----

func.func @multiply_shapes(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: 'stablehlo.multiply' op requires the same shape for all operands and results
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @multiply_types(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // CHECK: error: 'stablehlo.multiply' op requires compatible types for all operands and results, got 'tensor<4xf32>' and 'tensor<4xf64>'
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}clamp_c1: min is 'tensor<5xf32>', expected a scalar or 'tensor<4xf32>'
  %0 = stablehlo.clamp %b, %a, %a : (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_c2(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}clamp_c2: max is 'tensor<5xf32>', expected a scalar or 'tensor<4xf32>'
  %0 = stablehlo.clamp %a, %a, %b : (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_c1(%p: tensor<5xi1>, %a: tensor<4xf32>) {
  // CHECK: error: {{.*}}select_c1: pred is 'tensor<5xi1>', expected a scalar or the shape of 'tensor<4xf32>'
  %0 = stablehlo.select %p, %a, %a : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

func.func @select_c2(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xi32>) {
  // CHECK: error: {{.*}}select_c2: on_true is 'tensor<4xf32>' and on_false 'tensor<4xi32>', expected compatible types
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}
