// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// The gradient of take_along_axis: each row has its update at one place.
// CHECK-LABEL: @gradient_of_take_along_axis
// CHECK-DAG: %[[AT:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<64xi32>) -> tensor<64x100xi32>
// CHECK-DAG: %[[IOTA:.*]] = stablehlo.iota dim = 1 : tensor<64x100xi32>
// CHECK-DAG: %[[IS:.*]] = stablehlo.compare EQ, %[[AT]], %[[IOTA]] :
// CHECK-DAG: %[[UPDATE:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [0] : (tensor<64xf32>) -> tensor<64x100xf32>
// CHECK: %[[SUM:.*]] = stablehlo.add %[[UPDATE]], %[[ZERO:[^ ]*]] :
// CHECK: stablehlo.select %[[IS]], %[[SUM]], %[[ZERO]]
// CHECK-NOT: scatter
func.func @gradient_of_take_along_axis(%i: tensor<64x1x1xi32>, %u: tensor<64x1xf32>) -> tensor<64x100xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<64x100xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<64x100xf32>, tensor<64x1x1xi32>, tensor<64x1xf32>) -> tensor<64x100xf32>
  return %0 : tensor<64x100xf32>
}

// -----

// Indices of 8 bits do not hold all places; rows lie along the first dimension.
// CHECK-LABEL: @narrow_indices_of_columns
// CHECK-DAG: stablehlo.convert %{{.*}} : (tensor<3x5xi8>) -> tensor<3x5xi64>
// CHECK-DAG: stablehlo.iota dim = 0 : tensor<300x3x5xi64>
// CHECK: stablehlo.select
// CHECK-NOT: scatter
func.func @narrow_indices_of_columns(%i: tensor<3x5x1xi8>, %u: tensor<3x5xf32>) -> tensor<300x3x5xf32> {
  %ones = stablehlo.constant dense<1.0> : tensor<300x3x5xf32>
  %0 = "stablehlo.scatter"(%ones, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], input_batching_dims = [1, 2], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<300x3x5xf32>, tensor<3x5x1xi8>, tensor<3x5xf32>) -> tensor<300x3x5xf32>
  return %0 : tensor<300x3x5xf32>
}

// -----

// Two updates of a row may meet; an array that is no constant has more than one place to keep; a region may read the old
// value twice.
// CHECK-LABEL: @others_stay
// CHECK-COUNT-3: stablehlo.scatter
func.func @others_stay(%i: tensor<64x2x1xi32>, %u: tensor<64x2xf32>, %j: tensor<64x1x1xi32>, %v: tensor<64x1xf32>,
                       %x: tensor<64x100xf32>) -> (tensor<64x100xf32>, tensor<64x100xf32>, tensor<64x100xf32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<64x100xf32>
  %0 = "stablehlo.scatter"(%zeros, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %a = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %a : tensor<f32>
  }) : (tensor<64x100xf32>, tensor<64x2x1xi32>, tensor<64x2xf32>) -> tensor<64x100xf32>
  %1 = "stablehlo.scatter"(%x, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %a = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %a : tensor<f32>
  }) : (tensor<64x100xf32>, tensor<64x1x1xi32>, tensor<64x1xf32>) -> tensor<64x100xf32>
  %2 = "stablehlo.scatter"(%zeros, %j, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %a = stablehlo.add %old, %old : tensor<f32>
    stablehlo.return %a : tensor<f32>
  }) : (tensor<64x100xf32>, tensor<64x1x1xi32>, tensor<64x1xf32>) -> tensor<64x100xf32>
  return %0, %1, %2 : tensor<64x100xf32>, tensor<64x100xf32>, tensor<64x100xf32>
}
