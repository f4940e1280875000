// Each rule about data movement is broken once; the message has its label.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @reshape_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}reshape_c2: the operand 'tensor<2x3xf32>' has 6 elements and the result 'tensor<7xf32>' 7
  %0 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @bitcast_convert_c1(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}bitcast_convert_c1
  %0 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x3xi8>
  return
}

// -----

func.func @bitcast_convert_c2(%a: tensor<2xcomplex<f32>>) {
  // CHECK: error: {{.*}}bitcast_convert_c2
  %0 = stablehlo.bitcast_convert %a : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @transpose_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}transpose_c2: permutation are [0, 0], expected no number twice
  %0 = "stablehlo.transpose"(%a) {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_c3(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}inferred type(s) 'tensor<3x2xf32>' are incompatible with return type(s) of operation 'tensor<2x3xf32>'
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reverse_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}reverse_c2
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

func.func @broadcast_in_dim_c2(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c2: broadcast_dimensions has 2 elements, expected 1
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c3(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c3
  %0 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c4(%a: tensor<2x2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c4
  %0 = stablehlo.broadcast_in_dim %a, dims = [0, 0] : (tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @broadcast_in_dim_c5(%a: tensor<2xf32>) {
  // CHECK: error: {{.*}}broadcast_in_dim_c5
  %0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concatenate_c2(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // CHECK: error: {{.*}}concatenate_c2
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concatenate_c4(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}concatenate_c4
  %0 = stablehlo.concatenate %a, dim = 2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_c2(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}slice_c2
  %0 = stablehlo.slice %a [0:1] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @slice_c3(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}slice_c3: the slice [4, 9) of dimension 0 is not inside 'tensor<8xf32>'
  %0 = stablehlo.slice %a [4:9] : (tensor<8xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @slice_c4(%a: tensor<8xf32>) {
  // CHECK: error: {{.*}}slice_c4
  %0 = stablehlo.slice %a [0:8:0] : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @dynamic_slice_c2(%a: tensor<8x8xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c2
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_c3(%a: tensor<8x8xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // CHECK: error: {{.*}}dynamic_slice_c3
  %0 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 1] : (tensor<8x8xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_c4(%a: tensor<8xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_slice_c4
  %0 = stablehlo.dynamic_slice %a, %i, sizes = [9] : (tensor<8xf32>, tensor<i32>) -> tensor<9xf32>
  return
}

// -----

func.func @dynamic_update_slice_c3(%a: tensor<8xf32>, %u: tensor<1x1xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c3
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<1x1xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @dynamic_update_slice_c6(%a: tensor<8xf32>, %u: tensor<9xf32>, %i: tensor<i32>) {
  // CHECK: error: {{.*}}dynamic_update_slice_c6
  %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<8xf32>, tensor<9xf32>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @pad_c2(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c2
  %0 = stablehlo.pad %a, %z, low = [1, 1], high = [0, 0], interior = [0, 0] : (tensor<8xf32>, tensor<f32>) -> tensor<9xf32>
  return
}

// -----

func.func @pad_c3(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c3
  %0 = stablehlo.pad %a, %z, low = [1], high = [0], interior = [-1] : (tensor<8xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

// Sizes that overflow are an error, not a small array.
func.func @pad_c4(%a: tensor<8xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}pad_c4
  %0 = stablehlo.pad %a, %z, low = [9223372036854775807], high = [9223372036854775807], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<6xf32>
  return
}

// -----

func.func @gather_c1(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c1
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c3(%a: tensor<4x3xf32>, %i: tensor<2x2xi32>) {
  // CHECK: error: {{.*}}gather_c3
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x2xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c19(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c19
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [5], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_c21(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}gather_c21
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<4x3xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  return
}
