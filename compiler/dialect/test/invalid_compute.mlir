// Each rule about computing and control flow is broken once; the message has its label.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @add_c1(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // CHECK: error: {{.*}}add_c1
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @multiply_shapes(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}requires the same shape for all operands and results
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @clamp_c1(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}clamp_c1
  %0 = stablehlo.clamp %b, %a, %a : (tensor<5xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_c1(%p: tensor<5xi1>, %a: tensor<4xf32>) {
  // CHECK: error: {{.*}}select_c1
  %0 = stablehlo.select %p, %a, %a : tensor<5xi1>, tensor<4xf32>
  return
}

// -----

func.func @select_c2(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<4xi32>) {
  // CHECK: error: {{.*}}select_c2
  %0 = stablehlo.select %p, %a, %b : (tensor<i1>, tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @iota_c1() {
  // CHECK: error: {{.*}}iota_c1: iota_dimension is 1, expected it in [0, 1)
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @accuracy(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}a result accuracy of mode HIGHEST has a tolerance
  %0 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
  return
}

// -----

func.func @dot_general_c1(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c1
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c6(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c6
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_general_c10(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c10: dimension 0 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<3x4xf32>' differ in size
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @dot_general_c12(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // CHECK: error: {{.*}}dot_general_c12: the result is 'tensor<4x2xf32>', expected the shape [2, 4]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @convolution_c14(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x4x16xf32>) {
  // CHECK: error: {{.*}}convolution_c14: the kernel has 4 input features, expected 3
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @convolution_c25(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: error: {{.*}}convolution_c25: the result is 'tensor<1x7x6x16xf32>', expected the shape [1, 6, 6, 16]
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x7x6x16xf32>
  return
}

// -----

func.func @fft_c2(%a: tensor<8xcomplex<f32>>) {
  // CHECK: error: {{.*}}fft_c2
  %0 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @cholesky_c3(%a: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}cholesky_c3
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x3xf32>
  return
}

// -----

func.func @reduce_c4(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c4
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region takes 1 values, expected 2
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// The reducer may not be without an end, whatever is asked of it first.
func.func @reduce_no_end(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region does not end in stablehlo.return
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_window_c7(%a: tensor<4xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c7
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @sort_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c4
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_c5(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c5: the comparator gives
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_c4(%a: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<3xf32>) {
  // CHECK: error: {{.*}}scatter_c4
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @if_c2(%p: tensor<i1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: {{.*}}if_c2
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @while_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}while_c1: cond gives
  %0 = stablehlo.while(%x = %a) : tensor<4xf32> cond {
    stablehlo.return %x : tensor<4xf32>
  } do {
    stablehlo.return %x : tensor<4xf32>
  }
  return
}

// -----

func.func @composite_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}composite_c2
  %0 = stablehlo.composite "my.op" %a {decomposition = @missing} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_gather_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c1
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c2
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_permute_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_permute_c2: sources are [0, 0], expected no number twice
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @fusion(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}block argument types
  %0 = "isthmus.fusion"(%a) <{kind = #isthmus.fusion_kind<loop>}> ({
  ^bb0(%x: tensor<5xf32>):
    isthmus.yield %x : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}
