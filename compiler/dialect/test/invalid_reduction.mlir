// Each rule about operations with a function of elements is broken once; the message has its label,
// what it got and what it expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @map_c2() {
  // CHECK: error: 'stablehlo.map' op expected 1 or more operands, but found 0
  %0 = "stablehlo.map"() <{dimensions = array<i64: 0>}> ({
  ^bb0():
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : () -> tensor<4xf32>
  return
}

// -----

func.func @map_c3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}map_c3: dimensions are [1], expected all 1 in order
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @map_c4(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  // CHECK: error: {{.*}}map_c4: the region's argument list has 1 elements, expected 2
  %0 = "stablehlo.map"(%a, %b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @map_c4_argument(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}map_c4: the region takes 'tensor<f64>' for 'tensor<4xf32>', expected a scalar of its element type
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f64>):
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @map_c4_result(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}map_c4: the region gives (), expected a scalar
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c1(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<f32>, %q: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c1: types are 'tensor<4xf32>' and 'tensor<5xf32>', expected the same shape
  %0:2 = "stablehlo.reduce"(%a, %b, %p, %q) <{dimensions = array<i64: 0>}> ({
  ^bb0(%w: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %y, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  return
}

// -----

// A number of operands that is odd cannot be inputs and as many initial values.
func.func @reduce_c3(%p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c3: there are no inputs, expected one or more
  %0 = "stablehlo.reduce"(%p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c3_none() {
  // CHECK: error: {{.*}}reduce_c3: there are no inputs, expected one or more
  "stablehlo.reduce"() <{dimensions = array<i64: 0>}> ({
  ^bb0():
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @reduce_c4(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c4: dimensions are [1], expected all in [0, 1)
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c5(%a: tensor<4x4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c5: dimensions are [0, 0], expected no number twice
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c6(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region takes 1 values, expected 2
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// The reducer may not be without an end, whatever is asked of it first.
func.func @reduce_c6_end(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region has another end, expected stablehlo.return
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c6_results(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region gives 2 values, expected 1
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c6_rank(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region takes 'tensor<1xf32>', expected 0-dimensional tensors
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<1xf32>, %y: tensor<1xf32>):
    stablehlo.return %x : tensor<1xf32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c6_types(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c6: the region takes 'tensor<f32>' and 'tensor<f64>' and gives 'tensor<f64>', expected the same type
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f64>):
    stablehlo.return %y : tensor<f64>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @reduce_c6_promotion(%a: tensor<4xf64>, %p: tensor<f64>) {
  // CHECK: error: {{.*}}reduce_c6: the region computes with 'tensor<f32>' and gets 'f64', expected a type that promotes to it
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf64>, tensor<f64>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c7(%a: tensor<4x5xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c7: the result is 'tensor<4xf32>', expected 'tensor<5xf32>'
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_c8(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_c8: the result is 'tensor<f32>', expected 'tensor<f64>'
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    stablehlo.return %x : tensor<f64>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_i2(%a: tensor<4xf32>, %p: tensor<1xf32>) {
  // CHECK: error: {{.*}}reduce_i2: an initial value is 'tensor<1xf32>', expected a scalar
  %0 = "stablehlo.reduce"(%a, %p) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_window_c1() {
  // CHECK: error: {{.*}}reduce_window_c1: there are no inputs, expected one or more
  "stablehlo.reduce_window"() <{window_dimensions = array<i64: 2>}> ({
  ^bb0():
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @reduce_window_c2(%a: tensor<4xf32>, %b: tensor<5xf32>, %p: tensor<f32>, %q: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c2: types are 'tensor<4xf32>' and 'tensor<5xf32>', expected the same shape
  %0:2 = "stablehlo.reduce_window"(%a, %b, %p, %q) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%w: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %y, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<5xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<4xf32>)
  return
}

// -----

func.func @reduce_window_c4(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c4: window_dimensions has 2 elements, expected 1
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c5(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c5: window dimensions are [0], expected positive numbers
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c6(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c6: window strides has 2 elements, expected 1
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c7(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c7: window strides are [0], expected positive numbers
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c8(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c8: base dilations has 2 elements, expected 1
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c9(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c9: base dilations are [0], expected positive numbers
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c10(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c10: window dilations has 2 elements, expected 1
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 1, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c11(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c11: window dilations are [-1], expected positive numbers
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: -1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c12(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c12: padding has type 'tensor<1x3xi64>', expected tensor<1x2xi64>
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, padding = dense<0> : tensor<1x3xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c13(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c13: the region takes 1 values, expected 2
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_window_c15(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c15: the result is 'tensor<4xf32>', expected 'tensor<3xf32>'
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window_c15_overflow(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c15: the extent of a window or of what it moves over overflows, expected it to fit 63 bits
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 9223372036854775807>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_window_c16(%a: tensor<4xf32>, %p: tensor<f32>) {
  // CHECK: error: {{.*}}reduce_window_c16: the result is 'tensor<3xf64>', expected 'tensor<3xf32>'
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf64>
  return
}

// -----

func.func @reduce_window_i2(%a: tensor<4xf32>, %p: tensor<1xf32>) {
  // CHECK: error: {{.*}}reduce_window_i2: an initial value is 'tensor<1xf32>', expected a scalar
  %0 = "stablehlo.reduce_window"(%a, %p) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @scatter_c1(%a: tensor<4x3xf32>, %b: tensor<5x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>, %v: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c1: types are 'tensor<4x3xf32>' and 'tensor<5x3xf32>', expected the same shape
  %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%w: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %y, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<4x3xf32>, tensor<5x3xf32>)
  return
}

// -----

func.func @scatter_c2(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c2: there are 1 window, inserted and batching dimensions, expected as many as 'tensor<4x3xf32>' has, 2
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c3(%a: tensor<4x3xf32>, %b: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>, %v: tensor<2x2xf32>) {
  // CHECK: error: {{.*}}scatter_c3: types are 'tensor<2x3xf32>' and 'tensor<2x2xf32>', expected the same shape
  %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%w: tensor<f32>, %x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    stablehlo.return %y, %z : tensor<f32>, tensor<f32>
  }) : (tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>, tensor<2x2xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>)
  return
}

// -----

func.func @scatter_c4(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<3x3xf32>) {
  // CHECK: error: {{.*}}scatter_c4: dimension 0 of 'tensor<3x3xf32>' has size 3, expected that of the indices, 2
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c4_window(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x4xf32>) {
  // CHECK: error: {{.*}}scatter_c4: dimension 1 of 'tensor<2x4xf32>' has size 4, expected 3 at most as in 'tensor<4x3xf32>'
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c4_rank(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3x1xf32>) {
  // CHECK: error: {{.*}}scatter_c4: updates are 'tensor<2x3x1xf32>', expected rank 2
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3x1xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c5(%i: tensor<2x1xi32>) {
  // CHECK: error: {{.*}}scatter_c5: there are no inputs, expected one or more
  "stablehlo.scatter"(%i) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0():
    stablehlo.return
  }) : (tensor<2x1xi32>) -> ()
  return
}

// -----

func.func @scatter_c6(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf64>) {
  // CHECK: error: {{.*}}scatter_c6: element types of inputs and updates are 'f32' and 'f64', expected the same
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c7(%a: tensor<4x3x2xf32>, %i: tensor<2x1xi32>, %u: tensor<2x2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c7: update_window_dims are [2, 1], expected them in order
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3x2xf32>, tensor<2x1xi32>, tensor<2x2x3xf32>) -> tensor<4x3x2xf32>
  return
}

// -----

func.func @scatter_c8(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c8: update_window_dims are [2], expected all in [0, 2)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c9(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) {
  // CHECK: error: {{.*}}scatter_c9: collapsed or inserted and batching dimensions are [0, 0], expected no number twice
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c10(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) {
  // CHECK: error: {{.*}}scatter_c10: collapsed or inserted dimensions are [1, 0], expected them in order
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1, 0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c11(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) {
  // CHECK: error: {{.*}}scatter_c11: collapsed or inserted dimensions are [0, 2], expected all in [0, 2)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c12(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c12: batching dimensions are [1, 0], expected them in order
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c13(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c13: batching dimensions are [0, 3], expected all in [0, 3)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 3], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c14(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c14: batching dimensions of the indices are [1, 1], expected no number twice
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [1, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c15(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c15: batching dimensions of the indices are [3, 0], expected all in [0, 3)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [3, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c16(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c16: index_vector_dim is 2, expected no batching dimension of the indices
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [1, 2], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c17(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c17: batching dimensions of the indices has 1 elements, expected 2
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c18(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c18: batching dimension 0 of 'tensor<2x3x4xf32>' and dimension 0 of 'tensor<3x2x1xi32>', expected the same size
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c19(%a: tensor<4x3xf32>, %i: tensor<2x2xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c19: an index has 2 numbers, expected 1, one for each indexed dimension
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x2xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c20(%a: tensor<2x3x4xf32>, %i: tensor<3x2x1xi32>, %u: tensor<3x2xf32>) {
  // CHECK: error: {{.*}}scatter_c20: indexed and batching dimensions are [1, 0, 1], expected no number twice
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<2x3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @scatter_c21(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c21: indexed dimensions are [2], expected all in [0, 2)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [2], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c22(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c22: index_vector_dim is 3, expected it in [0, 3)
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 3>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c23(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c23: the region takes 1 values, expected 2
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_c24(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c24: the result is 'tensor<4x4xf32>', expected 'tensor<4x3xf32>'
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @scatter_c25(%a: tensor<4x3xf32>, %i: tensor<2x1xi32>, %u: tensor<2x3xf32>) {
  // CHECK: error: {{.*}}scatter_c25: the result is 'tensor<4x3xf64>', expected 'tensor<4x3xf32>'
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %y : tensor<f32>
  }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf64>
  return
}

// -----

func.func @select_and_scatter_c1(%a: tensor<4xf32>, %s: tensor<2xf16>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c1: the operand is 'tensor<4xf32>' and the source 'tensor<2xf16>', expected the same element type
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf16>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c2(%a: tensor<4xf32>, %s: tensor<3xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c2: the source is 'tensor<3xf32>', expected the shape [2] of the windows
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c3(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<1xf32>) {
  // CHECK: error: {{.*}}select_and_scatter_c3: init_value is 'tensor<1xf32>', expected a scalar of the element type 'f32'
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c4(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c4: window_dimensions has 2 elements, expected 1
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// The attribute is optional, the rule is not.
func.func @select_and_scatter_c4_absent(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c4: window_dimensions has 0 elements, expected 1
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c5(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c5: window dimensions are [0], expected positive numbers
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c6(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c6: window strides has 2 elements, expected 1
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c7(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c7: window strides are [0], expected positive numbers
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c8(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c8: padding has type 'tensor<2x1xi64>', expected tensor<1x2xi64>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, padding = dense<0> : tensor<2x1xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c9(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c9: select takes ('tensor<f32>', 'tensor<f32>') and gives ('tensor<f32>'), expected 'tensor<f32>' twice and tensor<i1>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c10(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c10: the region takes 1 values, expected 2
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_and_scatter_c11(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c11: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
  return
}

// -----

func.func @select_and_scatter_c12(%a: tensor<4xf32>, %s: tensor<2xf32>, %z: tensor<f32>) {
  // CHECK: error: {{.*}}select_and_scatter_c12: the result is 'tensor<4xf64>', expected 'tensor<4xf32>'
  %0 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %m = stablehlo.maximum %x, %y : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf64>
  return
}

// -----

func.func @sort_c1() {
  // CHECK: error: 'stablehlo.sort' op expected 1 or more operands, but found 0
  "stablehlo.sort"() <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : () -> ()
  return
}

// -----

func.func @sort_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c2: the result is 'tensor<4xf64>', expected 'tensor<4xf32>'
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sort_c3(%a: tensor<4xf32>, %b: tensor<5xf32>) {
  // CHECK: error: 'stablehlo.sort' op requires the same shape for all operands and results
  %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>, %w: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>, tensor<5xf32>) -> (tensor<4xf32>, tensor<5xf32>)
  return
}

// -----

func.func @sort_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c4: dimension is 1, expected it in [-1, 1)
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_c5(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c5: the comparator gives ('tensor<f32>'), expected tensor<i1>
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_c5_arguments(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c5: the comparator's argument list has 3 elements, expected 2
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %z: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_c5_types(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}sort_c5: the comparator takes 'tensor<f64>', expected 'tensor<f32>'
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
