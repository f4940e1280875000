// Each rule about data movement is broken once; the message has its label, what it got and what it
// expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @bitcast_convert_c1(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}bitcast_convert_c1: types are 'tensor<2xf32>' and 'tensor<2x3xi8>' with elements of 32 and 8 bits, expected shapes that agree, up to a last dimension of the ratio
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x3xi8>
  return
}

// -----

func.func @bitcast_convert_c2(%a: tensor<2xcomplex<f32>>) {
  // CHECK: error: {{.*}}bitcast_convert_c2: element types are 'complex<f32>' and 'f64', expected both complex or neither
  %0 = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @broadcast_c1(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_c1: broadcast_sizes are [-1], expected no negative number
  %0 = stablehlo.broadcast %a, sizes = [-1] : (tensor<2xf32>) -> tensor<1x2xf32>
  return
}

// -----

func.func @broadcast_in_dim_c1(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c1: element types are '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 2.500000e-01>', expected the same storage, scales and zero points
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @broadcast_in_dim_c2(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c2: broadcast_dimensions has 2 elements, expected 1
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c3(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c3: broadcast_dimensions are [2], expected all in [0, 2)
  %0 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c4(%a: tensor<2x2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c4: broadcast_dimensions are [0, 0], expected no number twice
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c5(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c5: dimension 0 of 'tensor<2xf32>' goes to dimension 1 of 'tensor<2x3xf32>', expected size 1 or the same size
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c6(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c6: the quantization dimension goes from 0 to 0, expected 1
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

func.func @broadcast_in_dim_c6_scales(%a: tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c6: element types are '!quant.uniform<i8:f32:0, {5.000000e-01}>' and '!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>', expected all scales and zero points to be the operand's
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<1x!quant.uniform<i8:f32:0, {0.5}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return
}

// -----

func.func @concatenate_c2(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // CHECK: error: {{.*}}concatenate_c2: inputs are 'tensor<2x3xf32>' and 'tensor<2x4xf32>', expected the same sizes but in dimension 0
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c3() {
  // CHECK: error: 'stablehlo.concatenate' op expected 1 or more operands, but found 0
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<2xf32>
  return
}

// -----

func.func @concatenate_c4(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}concatenate_c4: dimension is 2, expected it in [0, 2)
  %0 = stablehlo.concatenate %a, dim = 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concatenate_c6(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // CHECK: error: {{.*}}concatenate_c6: the result is 'tensor<6xf32>', expected 'tensor<5xf32>'
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @dynamic_slice_c2(%a: tensor<8x8xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c2: start_indices has 1 elements, expected 2
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_c2_sizes(%a: tensor<8x8xf32>, %i: tensor<i32>, %j: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c2: slice_sizes has 1 elements, expected 2
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1xf32>
  return
}

// -----

func.func @dynamic_slice_c3(%a: tensor<8x8xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // CHECK: error: {{.*}}dynamic_slice_c3: start_indices are 'tensor<i32>' and 'tensor<i64>', expected the same type
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_c4(%a: tensor<8xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c4: slice_sizes are [9], expected them inside 'tensor<8xf32>'
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [9] : (tensor<8xf32>, tensor<i32>) -> tensor<9xf32>
  return
}

// -----

func.func @dynamic_slice_c5(%a: tensor<8xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c5: the result is 'tensor<3xf32>', expected 'tensor<2xf32>'
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<3xf32>
  return
}

// -----

func.func @dynamic_update_slice_c1(%a: tensor<8xf32>, %u: tensor<2xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c1: the result is 'tensor<9xf32>', expected 'tensor<8xf32>'
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<9xf32>
  return
}

// -----

func.func @dynamic_update_slice_c3(%a: tensor<8xf32>, %u: tensor<1x1xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c3: the update is 'tensor<1x1xf32>' for 'tensor<8xf32>', expected the same rank
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<1x1xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @dynamic_update_slice_c4(%a: tensor<8x8xf32>, %u: tensor<1x1xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c4: start_indices has 1 elements, expected 2
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8x8xf32>, tensor<1x1xf32>, tensor<i32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @dynamic_update_slice_c5(%a: tensor<8x8xf32>, %u: tensor<1x1xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c5: start_indices are 'tensor<i32>' and 'tensor<i64>', expected the same type
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %j : (tensor<8x8xf32>, tensor<1x1xf32>, tensor<i32>, tensor<i64>) -> tensor<8x8xf32>
  return
}

// -----

func.func @dynamic_update_slice_c6(%a: tensor<8xf32>, %u: tensor<9xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c6: the update is 'tensor<9xf32>', expected it no larger than 'tensor<8xf32>'
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<9xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c2: edge_padding_low has 2 elements, expected 1
  %0 = stablehlo.pad %a, %z, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  return
}

// -----

func.func @pad_c3(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c3: interior_padding is [-1], expected no negative number
  %0 = stablehlo.pad %a, %z, low = [1], high = [0], interior = [-1] : (tensor<8xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad_c4(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c4: the result is 'tensor<8xf32>', expected 'tensor<9xf32>'
  %0 = stablehlo.pad %a, %z, low = [1], high = [0], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return
}

// -----

// Sizes that overflow are an error, not a small array.
func.func @pad_c4_overflow(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c4: dimension 0 of 'tensor<8xf32>' padded by 9223372036854775807 and 9223372036854775807, and 0 between elements, has no valid size, expected one from 0 to 2^63 - 1
  %0 = stablehlo.pad %a, %z, low = [9223372036854775807], high = [9223372036854775807], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @reshape_c1(%a: tensor<4x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}reshape_c1: element types are '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 2.500000e-01>', expected the same storage, scales and zero points
  %0 = stablehlo.reshape %a : (tensor<4x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @reshape_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}reshape_c2: the operand 'tensor<2x3xf32>' has 6 elements and the result 'tensor<7xf32>' 7, expected as many
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

// 2^64 elements are not none.
func.func @reshape_c2_overflow(%a: tensor<4294967296x4294967296xf32>) {
  // CHECK: error: {{.*}}reshape_c2: the number of elements of 'tensor<4294967296x4294967296xf32>' or 'tensor<4xf32>' overflows, expected it to fit 63 bits
  %0 = stablehlo.reshape %a : (tensor<4294967296x4294967296xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reshape_c3(%a: tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  // CHECK: error: {{.*}}reshape_c3: the reshape from 'tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>' to 'tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>' moves elements between scales, expected none to
  %0 = stablehlo.reshape %a : (tensor<2x4x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @reverse_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}reverse_c2: dimensions are [1, 1], expected no number twice
  %0 = stablehlo.reverse %a, dims = [1, 1] : tensor<2x3xf32>
  return
}

// -----

func.func @reverse_c3(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}reverse_c3: dimensions are [2], expected all in [0, 2)
  %0 = stablehlo.reverse %a, dims = [2] : tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}slice_c2: start_indices has 1 elements, expected 2
  %0 = stablehlo.slice %a [0:1] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @slice_c3(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}slice_c3: the slice [4, 9) of dimension 0 is not inside 'tensor<8xf32>', expected 0 <= start <= limit <= size
  %0 = stablehlo.slice %a [4:9] : (tensor<8xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_c4(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}slice_c4: strides are [0], expected positive numbers
  %0 = stablehlo.slice %a [0:8:0] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @slice_c5(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}slice_c5: the result is 'tensor<3xf32>', expected 'tensor<4xf32>'
  %0 = stablehlo.slice %a [0:7:2] : (tensor<8xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @transpose_c1(%a: tensor<2x3x!quant.uniform<i8:f32, 0.5>>) {
  // CHECK: error: {{.*}}transpose_c1: element types are '!quant.uniform<i8:f32, 5.000000e-01>' and '!quant.uniform<i8:f32, 2.500000e-01>', expected the same storage, scales and zero points
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x2x!quant.uniform<i8:f32, 0.25>>
  return
}

// -----

func.func @transpose_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}transpose_c2: permutation is [0, 0], expected each dimension of 'tensor<2x3xf32>' once
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

// Where scales go is not looked up in a permutation that is too short.
func.func @transpose_c2_quantized(%a: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  // CHECK: error: {{.*}}transpose_c2: permutation is [], expected each dimension of 'tensor<2x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>' once
  %0 = stablehlo.transpose %a, dims = [] : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @transpose_c3(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}transpose_c3: the result is 'tensor<2x3xf32>', expected 'tensor<3x2xf32>'
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @transpose_c4(%a: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) {
  // CHECK: error: {{.*}}transpose_c4: the quantization dimension goes from 1 to 1, expected 0
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
  return
}

// -----

func.func @gather_c1(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c1: there are 1 offset, collapsed and batching dimensions, expected as many as 'tensor<4x3xf32>' has, 2
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c2(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c2: index_vector_dim is 3, expected it in [0, 3)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<4x3xf32>, %i: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}gather_c3: an index has 2 numbers, expected 1, one for each indexed dimension
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c4(%a: tensor<4x3x2xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c4: offset_dims are [2, 1], expected them in order
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3, 2>}> : (tensor<4x3x2xf32>, tensor<2x1xi32>) -> tensor<2x3x2xf32>
  return
}

// -----

func.func @gather_c5(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c5: offset_dims are [5], expected all in [0, 2)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [5], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c6(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c6: collapsed or inserted and batching dimensions are [0, 0], expected no number twice
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_c7(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c7: collapsed or inserted dimensions are [1, 0], expected them in order
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1, 0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_c8(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c8: collapsed or inserted dimensions are [0, 2], expected all in [0, 2)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_c9(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c9: slice_sizes are [2, 3] but dimension 0 is collapsed or batching, expected 0 or 1
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c10(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c10: batching dimensions are [1, 0], expected them in order
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c11(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c11: batching dimensions are [0, 3], expected all in [0, 3)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 3], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c12(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c12: slice_sizes are [1, 2, 1] but dimension 1 is collapsed or batching, expected 0 or 1
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c13(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c13: batching dimensions of the indices are [1, 1], expected no number twice
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c14(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c14: batching dimensions of the indices are [3, 0], expected all in [0, 3)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [3, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c15(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c15: index_vector_dim is 2, expected no batching dimension of the indices
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 2], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c16(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c16: batching dimensions of the indices has 1 elements, expected 2
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c17(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c17: batching dimension 0 of 'tensor<2x3x4xf32>' and dimension 0 of 'tensor<3x2x1xi32>', expected the same size
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c18(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>) {
  // CHECK: error: {{.*}}gather_c18: indexed and batching dimensions are [1, 0, 1], expected no number twice
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [1, 0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x4xf32>, tensor<3x2x1xi32>) -> tensor<3x2xf32>
  return
}

// -----

func.func @gather_c19(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c19: indexed dimensions are [5], expected all in [0, 2)
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [5], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c20(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c20: slice_sizes has 1 elements, expected 2
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c21(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c21: slice_sizes are [1, 4], expected them inside 'tensor<4x3xf32>'
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @gather_c22(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c22: the result is 'tensor<2x4xf32>', expected 'tensor<2x3xf32>'
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}
