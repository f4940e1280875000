// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// x.at[2:5, 1].add(y) adds to a slice.
// CHECK-LABEL: @added_to_a_slice
// CHECK-DAG: %[[TWO:.*]] = stablehlo.constant dense<2> : tensor<i64>
// CHECK-DAG: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<i64>
// CHECK-DAG: %[[Y:.*]] = stablehlo.reshape %arg1 : (tensor<3xf32>) -> tensor<3x1xf32>
// CHECK-DAG: %[[OLD:.*]] = stablehlo.slice %arg0 [2:5, 1:2] : (tensor<8x6xf32>) -> tensor<3x1xf32>
// CHECK: %[[NEW:.*]] = stablehlo.add %[[OLD]], %[[Y]] : tensor<3x1xf32>
// CHECK: stablehlo.dynamic_update_slice %arg0, %[[NEW]], %[[TWO]], %[[ONE]]
// CHECK-NOT: scatter
func.func @added_to_a_slice(%x: tensor<8x6xf32>, %y: tensor<3xf32>) -> tensor<8x6xf32> {
  %i = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1, 0]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %new : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x6xf32>, tensor<2xi32>, tensor<3xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// What was there is the first operand, whatever the order.
// CHECK-LABEL: @subtracted_from
// CHECK: %[[OLD:.*]] = stablehlo.slice %arg0 [1:4]
// CHECK: stablehlo.subtract %arg1, %[[OLD]] : tensor<3xf32>
func.func @subtracted_from(%x: tensor<8xf32>, %y: tensor<3xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<1> : tensor<1xui8>
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.subtract %new, %old : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xui8>, tensor<3xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Of zeros, a slice that is set is padded.
// CHECK-LABEL: @set_in_zeros
// CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [2, 0], high = [3, 1], interior = [0, 0]
// CHECK-NOT: scatter
// CHECK-NOT: dynamic_update_slice
func.func @set_in_zeros(%y: tensor<1x3x5xf32>) -> tensor<8x6xf32> {
  %x = stablehlo.constant dense<0.0> : tensor<8x6xf32>
  %i = stablehlo.constant dense<2> : tensor<1x1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1, 2], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8x6xf32>, tensor<1x1xi32>, tensor<1x3x5xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// A window that sticks out is dropped by a scatter, and would be moved by an update of a slice.
// CHECK-LABEL: @sticks_out
// CHECK: stablehlo.scatter
func.func @sticks_out(%x: tensor<8xf32>, %y: tensor<3xf32>) -> tensor<8xf32> {
  %i = stablehlo.constant dense<6> : tensor<1xi32>
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: @unknown_place
// CHECK: stablehlo.scatter
func.func @unknown_place(%x: tensor<8xf32>, %i: tensor<1xi32>, %y: tensor<3xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8xf32>, tensor<1xi32>, tensor<3xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
