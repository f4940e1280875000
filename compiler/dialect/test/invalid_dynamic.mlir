// Each rule about computed shapes is broken once; the message has its label, what it got and what it
// expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @dynamic_broadcast_in_dim_c1(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c1: element types are 'f32' and 'f64', expected the same
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf64>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c1_scales(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c1: element types are '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 2.500000e-01>', expected the same storage, scales and zero points
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xi64>) -> tensor<3x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c2(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c2: broadcast_dimensions has 2 elements, expected 1
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c3(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c3: broadcast_dimensions are [2], expected all in [0, 2)
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [2] : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c4(%a: tensor<2x2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c4: broadcast_dimensions are [1, 1], expected no number twice
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1, 1] : (tensor<2x2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c5(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c5: dimension 0 of 'tensor<2xf32>' goes to dimension 0 of 'tensor<3x2xf32>', expected size 1 or the same size
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0] : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c6(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c6: the quantization dimension goes from 0 to 0, expected 1
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c6_scales(%a: tensor<1x!quant.uniform<i8:f32:0, {0.5}>>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c6: element types are '!quant.uniform<i8:f32:0, {5.000000e-01}>' and '!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>', expected all scales and zero points to be the operand's
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<1x!quant.uniform<i8:f32:0, {0.5}>>, tensor<2xi64>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c7(%a: tensor<2xf32>, %s: tensor<3xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c7: the shape is 'tensor<3xi64>', expected a number for each of 2 dimensions
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c7_constant(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c7: the shape is [4, 2], expected that of the result 'tensor<3x2xf32>'
  %s = stablehlo.constant dense<[4, 2]> : tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c8(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c8: dimensions known to expand or not are [0, 0], expected no number twice
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c9(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c9: known_expanding_dimensions are [1], expected all in [0, 1)
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_expanding_dimensions = array<i64: 1>} : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_broadcast_in_dim_c10(%a: tensor<2xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_broadcast_in_dim_c10: known_nonexpanding_dimensions are [-1], expected all in [0, 1)
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1] {known_nonexpanding_dimensions = array<i64: -1>} : (tensor<2xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @dynamic_conv_c1(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c1: operands are 'tensor<1x8x8x3xf32>' and 'tensor<3x3x16xf32>', expected the same rank of 2 or more
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c2(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c2: window strides has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c3(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c3: window strides are [1, 0], expected positive numbers
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c4(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<3x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c4: padding is 'tensor<3x2xi32>', expected two numbers for each of 2 spatial dimensions
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<3x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c5(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c5: base dilations has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c6(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c6: base dilations are [0, 1], expected positive numbers
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c7(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c7: window dilations has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c8(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c8: window dilations are [1, 0], expected positive numbers
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1, 0>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c9(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c9: window_reversal has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: true>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c10(%x: tensor<3x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c10: the input batch is 3, expected a multiple of 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c11(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c11: the number of input features is 3, expected a multiple of 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c12(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c12: input dimensions has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c13(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c13: input dimensions are [1, 1, 0, 3], expected no number twice
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c13_range(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c13: input dimensions are [1, 4, 0, 3], expected all in [0, 4)
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 4], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c14(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x4x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c14: the kernel has 4 input features, expected 3
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x4x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c15(%x: tensor<3x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c15: the number of output features is 16, expected a multiple of 3
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 3 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c16(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x1x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c16: the number of output features is 16, expected a multiple of 3
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x1x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c17(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c17: kernel dimensions has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c18(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c18: kernel dimensions are [0, 0, 2, 3], expected no number twice
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c19(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c19: output dimensions has 1 elements, expected 2
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c20(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c20: output dimensions are [1, 1, 0, 3], expected no number twice
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 1]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c23(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c23: feature_group_count is 2 and batch_group_count 2, expected one of them to be 1
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c24(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c24: precision_config has 3 elements, expected 2 at most
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c25(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c25: the result is 'tensor<1x6x6x15xf32>', expected the shape [1, ?, ?, 16]
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6x15xf32>
  return
}

// -----

func.func @dynamic_conv_c26(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c26: the result is 'tensor<1x6x6xf32>', expected rank 4
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>, tensor<2x2xi32>) -> tensor<1x6x6xf32>
  return
}

// -----

func.func @dynamic_conv_c27(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf64>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c27: element types of the operands are 'f32' and 'f64', expected the same
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf64>, tensor<2x2xi32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @dynamic_conv_c28(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2xf32>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c28: element types are '!quant.uniform<i8:f32, 5.000000e-01>', 'f32' and '!quant.uniform<i8:f32, 5.000000e-01>', expected rhs quantized, and lhs if the result is
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2xf32>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dynamic_conv_c29(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5}>>, %p: tensor<2x2xi32>) {
  // CHECK: error: 'stablehlo.dynamic_conv' op operand #1 must be ranked tensor of any element type, but got 'tensor<3x3x3x2x!quant.uniform<i8:f32:2, {5.000000e-01,5.000000e-01,5.000000e-01}>>'
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5}>>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dynamic_conv_c30(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, %p: tensor<2x2xi32>) {
  // CHECK: error: 'stablehlo.dynamic_conv' op result #0 must be ranked tensor of any element type, but got 'tensor<1x6x6x2x!quant.uniform<i8:f32:1, {5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01,5.000000e-01}>>'
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}

// -----

func.func @dynamic_conv_c31(%x: tensor<1x8x8x3x!quant.uniform<i4:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c31: element types are '!quant.uniform<i4:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same storage type
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i4:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dynamic_conv_c32(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f64, 0.5>>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c32: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f64, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same expressed type
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f64, 0.5>>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dynamic_conv_c33(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, %p: tensor<2x2xi32>) {
  // CHECK: error: 'stablehlo.dynamic_conv' op result #0 must be ranked tensor of any element type, but got 'tensor<1x6x6x2x!quant.uniform<i8:f32:3, {5.000000e-01,5.000000e-01}>>'
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32:3, {0.5, 0.5}>>
  return
}

// -----

func.func @dynamic_conv_c34(%x: tensor<1x8x8x3xf64>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, %p: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}dynamic_conv_c34: element types are 'f64', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f64', expected lhs and the result to be what rhs expresses
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf64>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2xi32>) -> tensor<1x6x6x2xf64>
  return
}

// -----

func.func @dynamic_gather_c1(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c1: there are 1 offset, collapsed and batching dimensions, expected as many as 'tensor<4x3xf32>' has, 2
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c2(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c2: index_vector_dim is 3, expected it in [0, 3)
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c3(%a: tensor<4x3xf32>, %i: tensor<2x2xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c3: an index has 2 numbers, expected 1, one for each indexed dimension
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c4(%a: tensor<4x3x2xf32>, %i: tensor<2x1xi32>, %s: tensor<3xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c4: offset_dims are [2, 1], expected them in order
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3x2xf32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @dynamic_gather_c5(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c5: offset_dims are [5], expected all in [0, 2)
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [5], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c6(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c6: collapsed or inserted dimensions are [1, 0], expected them in order
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @dynamic_gather_c7(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c7: collapsed or inserted dimensions are [0, 2], expected all in [0, 2)
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 2], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @dynamic_gather_c8(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c8: slice_sizes are [2, 3] but dimension 0 is collapsed or batching, expected 0 or 1
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c9(%a: tensor<4x3xf32>, %i: tensor<2x2xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c9: indexed and batching dimensions are [0, 0], expected no number twice
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c10(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c10: indexed dimensions are [2], expected all in [0, 2)
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [2], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c11(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<3xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c11: slice_sizes has 3 elements, expected 2
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_gather_c12(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c12: slice_sizes are [1, 4], expected them inside 'tensor<4x3xf32>'
  %s = stablehlo.constant dense<[1, 4]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dynamic_gather_c13(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c13: the result is 'tensor<2x2xf32>', expected 'tensor<2x3xf32>'
  %s = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_gather_c14(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  // CHECK: error: {{.*}}dynamic_gather_c14: the result is 'tensor<2x3xf64>', expected 'tensor<2x?xf32>'
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf64>
  return
}

// -----

func.func @dynamic_iota_c1(%s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_iota_c1: iota_dimension is 2, expected it in [0, 2)
  %0 = stablehlo.dynamic_iota %s, dim = 2 : (tensor<2xi64>) -> tensor<?x?xi32>
  return
}

// -----

func.func @dynamic_iota_c2(%s: tensor<3xi64>) {
  // CHECK: error: {{.*}}dynamic_iota_c2: the shape is 'tensor<3xi64>', expected a number for each of 2 dimensions
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<3xi64>) -> tensor<?x?xi32>
  return
}

// -----

func.func @dynamic_iota_c2_negative() {
  // CHECK: error: {{.*}}dynamic_iota_c2: the shape is [-1], expected that of the result 'tensor<?xi32>'
  %s = stablehlo.constant dense<-1> : tensor<1xi64>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
  return
}

// -----

func.func @dynamic_pad_c2(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}dynamic_pad_c2: edge_padding_low has 2 elements, expected 1
  %l = stablehlo.constant dense<1> : tensor<2xi64>
  %h = stablehlo.constant dense<1> : tensor<2xi64>
  %i = stablehlo.constant dense<0> : tensor<2xi64>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i : (tensor<4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @dynamic_pad_c3(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}dynamic_pad_c3: interior_padding is [-1], expected no negative number
  %l = stablehlo.constant dense<1> : tensor<1xi64>
  %h = stablehlo.constant dense<1> : tensor<1xi64>
  %i = stablehlo.constant dense<-1> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @dynamic_pad_c4(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}dynamic_pad_c4: dimension 0 of 'tensor<4xf32>' padded by 1, 1 and 0 between elements, expected it to fit 'tensor<7xf32>'
  %l = stablehlo.constant dense<1> : tensor<1xi64>
  %h = stablehlo.constant dense<1> : tensor<1xi64>
  %i = stablehlo.constant dense<0> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<7xf32>
  return
}

// -----

func.func @dynamic_pad_c4_negative(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}dynamic_pad_c4: dimension 0 of 'tensor<4xf32>' padded by -5, 0 and 0 between elements, expected it to fit 'tensor<?xf32>'
  %l = stablehlo.constant dense<-5> : tensor<1xi64>
  %h = stablehlo.constant dense<0> : tensor<1xi64>
  %i = stablehlo.constant dense<0> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %a, %z, %l, %h, %i : (tensor<4xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @dynamic_reshape_c1(%a: tensor<4xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_reshape_c1: element types are 'f32' and 'f64', expected the same
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf64>
  return
}

// -----

func.func @dynamic_reshape_c1_scales(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_reshape_c1: element types are '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 2.500000e-01>', expected the same storage, scales and zero points
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4x!quant.uniform<i8:f32, 0.5>>, tensor<2xi64>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @dynamic_reshape_c2(%a: tensor<4xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_reshape_c2: the operand 'tensor<4xf32>' has 4 elements and the result 'tensor<2x3xf32>' 6, expected as many
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @dynamic_reshape_c2_constant(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}dynamic_reshape_c2: the operand 'tensor<4xf32>' has 4 elements, expected as many as output_shape says, [2, 3]
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @dynamic_reshape_c3(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}dynamic_reshape_c3: the reshape from 'tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>' to 'tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>' moves elements between scales, expected none to
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi64>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @dynamic_reshape_c4(%a: tensor<4xf32>, %s: tensor<3xi64>) {
  // CHECK: error: {{.*}}dynamic_reshape_c4: the shape is 'tensor<3xi64>', expected a number for each of 2 dimensions
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<3xi64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @dynamic_reshape_c4_constant(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}dynamic_reshape_c4: the shape is [1, 4], expected that of the result 'tensor<2x2xf32>'
  %s = stablehlo.constant dense<[1, 4]> : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<4xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  return
}

// -----

func.func @real_dynamic_slice_c2(%a: tensor<4x4xf32>, %s: tensor<1xi64>) {
  // CHECK: error: {{.*}}real_dynamic_slice_c2: start_indices are 'tensor<1xi64>', expected 2 numbers
  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<4x4xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @real_dynamic_slice_c2_rank(%a: tensor<4x4xf32>, %s: tensor<2xi64>) {
  // CHECK: error: {{.*}}real_dynamic_slice_c2: the result is 'tensor<?xf32>', expected rank 2
  %0 = stablehlo.real_dynamic_slice %a, %s, %s, %s : (tensor<4x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @get_dimension_size_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}get_dimension_size_c1: dimension is 1, expected it in [0, 1)
  %0 = stablehlo.get_dimension_size %a, dim = 1 : (tensor<4xf32>) -> tensor<i32>
  return
}

// -----

func.func @set_dimension_size_c1(%a: tensor<4xf32>, %s: tensor<i32>) {
  // CHECK: error: {{.*}}set_dimension_size_c1: dimension is 1, expected it in [0, 1)
  %0 = stablehlo.set_dimension_size %a, %s, dim = 1 : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @set_dimension_size_i2(%a: tensor<4xf32>, %s: tensor<1xi32>) {
  // CHECK: error: {{.*}}set_dimension_size_i2: size is 'tensor<1xi32>', expected a scalar
  %0 = stablehlo.set_dimension_size %a, %s, dim = 0 : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  return
}
