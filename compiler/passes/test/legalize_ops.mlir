// RUN: isthmus-opt %s -legalize-ops | FileCheck %s

// CHECK-LABEL: @dot
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
func.func @dot(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = "stablehlo.dot"(%x, %y) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: @broadcast
// CHECK: stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
func.func @broadcast(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @map
// CHECK-NEXT: stablehlo.sine %arg0 : tensor<3xf32>
func.func @map(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    %1 = stablehlo.sine %a : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @tuple
// CHECK-NEXT: return %arg1
func.func @tuple(%x: tensor<3xf32>, %y: tensor<2xi32>) -> tensor<2xi32> {
  %0 = stablehlo.tuple %x, %y : tuple<tensor<3xf32>, tensor<2xi32>>
  %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<3xf32>, tensor<2xi32>>) -> tensor<2xi32>
  return %1 : tensor<2xi32>
}

// (x - mean) / sqrt(variance + epsilon) * scale + offset, the square root taken once per feature.
// CHECK-LABEL: @batch_norm_inference
// CHECK: %[[V:.*]] = stablehlo.add %arg4, %{{.*}} : tensor<4xf32>
// CHECK: %[[D:.*]] = stablehlo.sqrt %[[V]] : tensor<4xf32>
// CHECK: %[[M:.*]] = stablehlo.broadcast_in_dim %arg3, dims = [1]
// CHECK: %[[C:.*]] = stablehlo.subtract %arg0, %[[M]]
// CHECK: %[[DB:.*]] = stablehlo.broadcast_in_dim %[[D]], dims = [1]
// CHECK: %[[N:.*]] = stablehlo.divide %[[C]], %[[DB]]
// CHECK: %[[S:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1]
// CHECK: %[[P:.*]] = stablehlo.multiply %[[S]], %[[N]]
// CHECK: %[[O:.*]] = stablehlo.broadcast_in_dim %arg2, dims = [1]
// CHECK: stablehlo.add %[[P]], %[[O]]
func.func @batch_norm_inference(%x: tensor<8x4xf32>, %scale: tensor<4xf32>, %offset: tensor<4xf32>, %mean: tensor<4xf32>, %variance: tensor<4xf32>) -> tensor<8x4xf32> {
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// What begins is done at once.
// CHECK-LABEL: @asynchronous
// CHECK-NEXT: %[[PART:.*]] = stablehlo.slice %{{.*}} [1:3]
// CHECK-NEXT: stablehlo.add %[[PART]], %[[PART]]
func.func @asynchronous(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<4xf32>):
    %1 = stablehlo.slice %y [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %3 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  %4 = stablehlo.add %2, %3 : tensor<2xf32>
  return %4 : tensor<2xf32>
}

// CHECK-LABEL: @control_dependency
// CHECK-NEXT: return
func.func @control_dependency(%x: tensor<4xf32>) {
  stablehlo.custom_call @control_dep(%x, %x) {has_side_effect = true, api_version = 4 : i32} : (tensor<4xf32>, tensor<4xf32>) -> ()
  return
}
