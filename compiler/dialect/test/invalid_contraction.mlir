// Each rule about contractions, convolutions and linear algebra is broken once; the message has its
// label, what it got and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @batch_norm_grad_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}batch_norm_grad_c1: feature_index is 2, expected it in [0, 2)
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c3(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3x3xf32>) {
  // CHECK: error: {{.*}}batch_norm_grad_c3: the operand is 'tensor<2x3xf32>' and grad_output 'tensor<3x3xf32>', expected the same shape
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_grad_c5(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<2xf32>, %e: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}batch_norm_grad_c5: 'tensor<2xf32>' goes along dimension 1 of 'tensor<2x3xf32>', expected the same size
  %0:3 = "stablehlo.batch_norm_grad"(%a, %b, %c, %d, %e) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_inference_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // CHECK: error: {{.*}}batch_norm_inference_c1: feature_index is 2, expected it in [0, 2)
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_inference_c3(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>, %d: tensor<3xf32>, %e: tensor<3xf32>) {
  // CHECK: error: {{.*}}batch_norm_inference_c3: 'tensor<2xf32>' goes along dimension 1 of 'tensor<2x3xf32>', expected the same size
  %0 = "stablehlo.batch_norm_inference"(%a, %b, %c, %d, %e) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch_norm_training_c1(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>) {
  // CHECK: error: {{.*}}batch_norm_training_c1: feature_index is 2, expected it in [0, 2)
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 0.1 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @batch_norm_training_c3(%a: tensor<2x3xf32>, %b: tensor<2xf32>, %c: tensor<3xf32>) {
  // CHECK: error: {{.*}}batch_norm_training_c3: 'tensor<2xf32>' goes along dimension 1 of 'tensor<2x3xf32>', expected the same size
  %0:3 = "stablehlo.batch_norm_training"(%a, %b, %c) <{epsilon = 0.1 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @cholesky_c2(%a: tensor<3xf32>) {
  // CHECK: error: {{.*}}cholesky_c2: a is 'tensor<3xf32>', expected rank 2 or more
  %0 = stablehlo.cholesky %a, lower = true : tensor<3xf32>
  return
}

// -----

func.func @cholesky_c3(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}cholesky_c3: a is 'tensor<2x3xf32>', expected square matrices
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x3xf32>
  return
}

// -----

func.func @convolution_c1(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c1: operands are 'tensor<1x8x8x3xf32>' and 'tensor<3x3x16xf32>', expected the same rank of 2 or more
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c2: window strides has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c3: window strides are [1, 0], expected positive numbers
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c4: padding has type 'tensor<2x1xi64>', expected tensor<2x2xi64>
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2x1xi64>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c5(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c5: base dilations has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c6(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c6: base dilations are [0, 1], expected positive numbers
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c7(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c7: window dilations has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c8(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c8: window dilations are [1, 0], expected positive numbers
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1, 0>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c9(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c9: window_reversal has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: true>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c10(%x: tensor<3x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c10: the input batch is 3, expected a multiple of 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c11(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c11: the number of input features is 3, expected a multiple of 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c12(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c12: input dimensions has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c13(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c13: input dimensions are [1, 1, 0, 3], expected no number twice
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 1], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c13_range(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c13: input dimensions are [1, 4, 0, 3], expected all in [0, 4)
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 4], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c14(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x4x16xf32>) {
  // CHECK: error: {{.*}}convolution_c14: the kernel has 4 input features, expected 3
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c15(%x: tensor<3x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c15: the number of output features is 16, expected a multiple of 3
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 3 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c16(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x1x16xf32>) {
  // CHECK: error: {{.*}}convolution_c16: the number of output features is 16, expected a multiple of 3
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 3 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x1x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c17(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c17: kernel dimensions has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c18(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c18: kernel dimensions are [0, 0, 2, 3], expected no number twice
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 0], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c19(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c19: output dimensions has 1 elements, expected 2
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c20(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c20: output dimensions are [1, 1, 0, 3], expected no number twice
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, output_feature_dimension = 3, output_spatial_dimensions = [1, 1]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c23(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c23: feature_group_count is 2 and batch_group_count 2, expected one of them to be 1
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c24(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c24: precision_config has 3 elements, expected 2 at most
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c25(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c25: the result is 'tensor<1x7x6x16xf32>', expected the shape [1, 6, 6, 16]
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x7x6x16xf32>
  return
}

// -----

func.func @convolution_c26(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c26: the result is 'tensor<1x6x6xf32>', expected rank 4
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x6x6xf32>
  return
}

// -----

func.func @convolution_c27(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf64>) {
  // CHECK: error: {{.*}}convolution_c27: element types of the operands are 'f32' and 'f64', expected the same
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf64>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c28(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2xf32>) {
  // CHECK: error: {{.*}}convolution_c28: element types are '!quant.uniform<i8:f32, 5.000000e-01>', 'f32' and '!quant.uniform<i8:f32, 5.000000e-01>', expected rhs quantized, and lhs if the result is
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2xf32>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c29(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5}>>) {
  // CHECK: error: {{.*}}convolution_c29: rhs is quantized along dimension 2, expected 3
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32:2, {0.5, 0.5, 0.5}>>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c30(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32:3, {0.5, 0.5}>>) {
  // CHECK: error: {{.*}}convolution_c30: the result is quantized along dimension 1, expected 3
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32:3, {0.5, 0.5}>>) -> tensor<1x6x6x2x!quant.uniform<i8:f32:1, {0.5, 0.5, 0.5, 0.5, 0.5, 0.5}>>
  return
}

// -----

func.func @convolution_c31(%x: tensor<1x8x8x3x!quant.uniform<i4:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}convolution_c31: element types are '!quant.uniform<i4:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same storage type
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i4:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c32(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f64, 0.5>>) {
  // CHECK: error: {{.*}}convolution_c32: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f64, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same expressed type
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f64, 0.5>>) -> tensor<1x6x6x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @convolution_c33(%x: tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}convolution_c33: the result is '!quant.uniform<i8:f32:3, {5.000000e-01,5.000000e-01}>' and rhs '!quant.uniform<i8:f32, 5.000000e-01>', expected the result quantized per axis only if rhs is
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x2x!quant.uniform<i8:f32:3, {0.5, 0.5}>>
  return
}

// -----

func.func @convolution_c34(%x: tensor<1x8x8x3xf64>, %k: tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}convolution_c34: element types are 'f64', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f64', expected lhs and the result to be what rhs expresses
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf64>, tensor<3x3x3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<1x6x6x2xf64>
  return
}

// -----

func.func @dot_general_c1(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c1: rhs_batching_dimensions has 0 elements, expected 1
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c2(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c2: rhs_contracting_dimensions has 1 elements, expected 2
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0, 1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c3(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c3: dimensions of lhs are [1, 1], expected no number twice
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c4(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c4: dimensions of rhs are [0, 0], expected no number twice
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c5(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c5: lhs_batching_dimensions are [2], expected all in [0, 2)
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c6(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c6: lhs_contracting_dimensions are [2], expected all in [0, 2)
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c7(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c7: rhs_batching_dimensions are [2], expected all in [0, 2)
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c8(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c8: rhs_contracting_dimensions are [-1], expected all in [0, 2)
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [-1]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c9(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c9: dimension 0 of 'tensor<2x3xf32>' and dimension 1 of 'tensor<3x4xf32>', expected the same size
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_general_c10(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c10: dimension 0 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<3x4xf32>', expected the same size
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @dot_general_c11(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c11: precision_config has 3 elements, expected 2 at most
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c12(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c12: the result is 'tensor<4x2xf32>', expected the shape [2, 4]
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @dot_general_c14(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c14: element types are '!quant.uniform<i8:f32, 5.000000e-01>', 'f32' and '!quant.uniform<i8:f32, 5.000000e-01>', expected rhs quantized, and lhs if the result is
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c15(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>) {
  // CHECK: error: {{.*}}dot_general_c15: the zero point of rhs is 3, expected 0
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5:3>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c15_axis(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x2x!quant.uniform<i8:f32:1, {0.5:3, 0.5:3}>>) {
  // CHECK: error: {{.*}}dot_general_c15: the zero points of rhs are [3, 3], expected 0
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x2x!quant.uniform<i8:f32:1, {0.5:3, 0.5:3}>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c16(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) {
  // CHECK: error: {{.*}}dot_general_c16: rhs is quantized along dimension 0, expected one that is not contracting
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x2x!quant.uniform<i8:f32:0, {0.5, 0.5, 0.5}>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c17(%a: tensor<2x3x!quant.uniform<i4:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}dot_general_c17: element types are '!quant.uniform<i4:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same storage type
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i4:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c18(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x4x!quant.uniform<i8:f64, 0.5>>) {
  // CHECK: error: {{.*}}dot_general_c18: element types are '!quant.uniform<i8:f32, 5.000000e-01>', '!quant.uniform<i8:f64, 5.000000e-01>' and '!quant.uniform<i8:f32, 5.000000e-01>', expected the same expressed type
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x4x!quant.uniform<i8:f64, 0.5>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @dot_general_c19(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>, %b: tensor<3x2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}dot_general_c19: the result is '!quant.uniform<i8:f32:1, {5.000000e-01,5.000000e-01}>' and rhs '!quant.uniform<i8:f32, 5.000000e-01>', expected the result quantized per axis only if rhs is
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>, tensor<3x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.5}>>
  return
}

// -----

func.func @dot_general_c20(%a: tensor<2x3xf64>, %b: tensor<3x4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}dot_general_c20: element types are 'f64', '!quant.uniform<i8:f32, 5.000000e-01>' and 'f64', expected lhs and the result to be what rhs expresses
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf64>, tensor<3x4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x4xf64>
  return
}

// -----

func.func @dot_general_c21(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c21: an algorithm is given and the precision is [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], expected DEFAULT
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c22(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c22: lhs_component_count of a dot algorithm is 0, expected a positive number
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c23(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c23: rhs_component_count of a dot algorithm is 0, expected a positive number
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 0, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c24(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c24: num_primitive_operations of a dot algorithm is 0, expected a positive number
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_i8(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_i8: a dot algorithm computes in 'i32', expected a float type
  %0 = "stablehlo.dot_general"(%a, %b) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = i32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_c1(%a: tensor<2x3x1xf32>, %b: tensor<3xf32>) {
  // CHECK: error: {{.*}}dot_c1: operands are 'tensor<2x3x1xf32>' and 'tensor<3xf32>', expected rank 1 or 2
  %0 = stablehlo.dot %a, %b : (tensor<2x3x1xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_c2(%a: tensor<2x3xf32>, %b: tensor<2xf32>) {
  // CHECK: error: {{.*}}dot_c2: the last dimension of 'tensor<2x3xf32>' and the first of 'tensor<2xf32>', expected the same size
  %0 = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @dot_c3(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // CHECK: error: {{.*}}dot_c3: the result is 'tensor<3xf32>', expected the shape [2]
  %0 = stablehlo.dot %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @dot_c4(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // CHECK: error: {{.*}}dot_c4: precision_config has 3 elements, expected 2 at most
  %0 = stablehlo.dot %a, %b, precision = [DEFAULT, DEFAULT, DEFAULT] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @fft_c1(%a: tensor<8xcomplex<f32>>) {
  // CHECK: error: {{.*}}fft_c1: fft_length is [8, 8] for 'tensor<8xcomplex<f32>>', expected no more numbers than dimensions
  %0 = stablehlo.fft %a, type = FFT, length = [8, 8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @fft_c2(%a: tensor<8xcomplex<f32>>) {
  // CHECK: error: {{.*}}fft_c2: the operand is 'tensor<8xcomplex<f32>>', expected f32 or f64 values
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @fft_c3(%a: tensor<8xcomplex<f32>>) {
  // CHECK: error: {{.*}}fft_c3: fft_length is [], expected 1 to 3 numbers
  %0 = stablehlo.fft %a, type = FFT, length = [] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @fft_c4(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}fft_c4: the operand is 'tensor<8xf32>', expected it to end in [9]
  %0 = stablehlo.fft %a, type = RFFT, length = [9] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @fft_c5(%a: tensor<5xcomplex<f32>>) {
  // CHECK: error: {{.*}}fft_c5: the last dimension of 'tensor<5xcomplex<f32>>' is 5, expected 6
  %0 = stablehlo.fft %a, type = IRFFT, length = [10] : (tensor<5xcomplex<f32>>) -> tensor<10xf32>
  return
}

// -----

func.func @triangular_solve_c2(%a: tensor<3x3xf32>, %b: tensor<1x3x3xf32>) {
  // CHECK: error: {{.*}}triangular_solve_c2: operands are 'tensor<3x3xf32>' and 'tensor<1x3x3xf32>', expected the same rank of 2 or more
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x3x3xf32>
  return
}

// -----

func.func @triangular_solve_c3(%a: tensor<3x3xf32>, %b: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}triangular_solve_c3: a is 'tensor<3x3xf32>' and b 'tensor<4x3xf32>', expected sizes that fit
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @triangular_solve_c3_square(%a: tensor<3x4xf32>, %b: tensor<3x3xf32>) {
  // CHECK: error: {{.*}}triangular_solve_c3: a is 'tensor<3x4xf32>', expected square matrices
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x4xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @triangular_solve_i6(%a: tensor<3x3xf32>, %b: tensor<3x3xf32>) {
  // CHECK: error: {{.*}}triangular_solve_i6: transpose_a is TRANSPOSE_INVALID, expected a transposition
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}
