// RUN: isthmus-opt %s -split-scatters | FileCheck %s

// 100,000 updates of 300 elements: 16 copies, which divides them.
// CHECK-LABEL: @segments
// CHECK: %[[FILL:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<16x300xf32>
// CHECK: %[[I:.*]] = stablehlo.reshape %arg1 : (tensor<100000x1xi32>) -> tensor<16x6250x1xi32>
// CHECK: %[[U:.*]] = stablehlo.reshape %arg2 : (tensor<100000xf32>) -> tensor<16x6250xf32>
// CHECK: %[[PARTS:.*]] = "stablehlo.scatter"(%[[FILL]], %[[I]], %[[U]]) {{.*}}#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>
// CHECK: %[[JOINED:.*]] = stablehlo.reduce(%[[PARTS]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.add %arg0, %[[JOINED]] : tensor<300xf32>
func.func @segments(%x: tensor<300xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<300xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<300xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<300xf32>
  return %0 : tensor<300xf32>
}

// Small windows before the updates' other dimension, and indices along the first dimension.
// CHECK-LABEL: @windows
// CHECK: stablehlo.constant dense<-2147483648> : tensor<16x4x7xi32>
// CHECK: stablehlo.reshape %arg1 : (tensor<1x65536xi32>) -> tensor<1x16x4096xi32>
// CHECK: stablehlo.reshape %arg2 : (tensor<4x65536xi32>) -> tensor<4x16x4096xi32>
// CHECK: update_window_dims = [0], inserted_window_dims = [2], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [2]
func.func @windows(%x: tensor<4x7xi32>, %i: tensor<1x65536xi32>, %u: tensor<4x65536xi32>) -> tensor<4x7xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.maximum %b, %a : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4x7xi32>, tensor<1x65536xi32>, tensor<4x65536xi32>) -> tensor<4x7xi32>
  return %0 : tensor<4x7xi32>
}

// Bits that all updates have: copies begin with all of them.
// CHECK-LABEL: @bits
// CHECK: %[[FILL:.*]] = stablehlo.constant dense<-1> : tensor<16x300xi32>
// CHECK: %[[PARTS:.*]] = "stablehlo.scatter"(%[[FILL]]
// CHECK: %[[JOINED:.*]] = stablehlo.reduce(%[[PARTS]] init: %{{.*}}) applies stablehlo.and across dimensions = [0]
// CHECK: stablehlo.and %arg0, %[[JOINED]] : tensor<300xi32>
func.func @bits(%x: tensor<300xi32>, %i: tensor<100000x1xi32>, %u: tensor<100000xi32>) -> tensor<300xi32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %1 = stablehlo.and %a, %b : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<300xi32>, tensor<100000x1xi32>, tensor<100000xi32>) -> tensor<300xi32>
  return %0 : tensor<300xi32>
}

// Each thread would have an array as long as the updates.
// CHECK-LABEL: @many_elements
// CHECK-NOT: reshape
func.func @many_elements(%x: tensor<100000xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<100000xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<100000xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<100000xf32>
  return %0 : tensor<100000xf32>
}

// The last update of an element counts.
// CHECK-LABEL: @last
// CHECK-NOT: reshape
func.func @last(%x: tensor<300xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000xf32>) -> tensor<300xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<300xf32>, tensor<100000x1xi32>, tensor<100000xf32>) -> tensor<300xf32>
  return %0 : tensor<300xf32>
}


// Rows of 512 bytes: halves of them, one to each thread, would be read with gaps.
// CHECK-LABEL: @rows
// CHECK: stablehlo.reshape %arg2 : (tensor<100000x128xf32>) -> tensor<5x20000x128xf32>
func.func @rows(%x: tensor<1000x128xf32>, %i: tensor<100000x1xi32>, %u: tensor<100000x128xf32>) -> tensor<1000x128xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<1000x128xf32>, tensor<100000x1xi32>, tensor<100000x128xf32>) -> tensor<1000x128xf32>
  return %0 : tensor<1000x128xf32>
}

// Threads share rows of two kilobytes.
// CHECK-LABEL: @long_rows
// CHECK-NOT: reshape
func.func @long_rows(%x: tensor<100x512xf32>, %i: tensor<10000x1xi32>, %u: tensor<10000x512xf32>) -> tensor<100x512xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<100x512xf32>, tensor<10000x1xi32>, tensor<10000x512xf32>) -> tensor<100x512xf32>
  return %0 : tensor<100x512xf32>
}
