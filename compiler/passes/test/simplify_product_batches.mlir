// Dimensions in front of the batches of what is large become batches.
// RUN: isthmus-opt %s -simplify | FileCheck %s

// Scores that vmap has put a group in front of: the keys are the same for each member of the group. What
// scales them does not keep the transpose from its product.
// CHECK-LABEL: @group_of_result
// CHECK: %[[K:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3, 4] : (tensor<2x512x3x8xf32>) -> tensor<4x2x512x3x8xf32>
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg0, %[[K]], batching_dims = [3, 0, 2] x [0, 1, 3], contracting_dims = [4] x [4]
// CHECK-SAME: -> tensor<4x2x3x512x512xf32>
// CHECK-NOT: transpose
// CHECK: %[[S:.*]] = stablehlo.multiply %[[D]], %{{.*}} : tensor<4x2x3x512x512xf32>
// CHECK: return %[[S]]
func.func @group_of_result(%q: tensor<2x512x3x4x8xf32>, %k: tensor<2x512x3x8xf32>) -> tensor<4x2x3x512x512xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<2x3x512x4x512xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x512x3x4x8xf32>, tensor<2x512x3x8xf32>) -> tensor<2x3x512x4x512xf32>
  %1 = stablehlo.multiply %0, %half : tensor<2x3x512x4x512xf32>
  %2 = stablehlo.transpose %1, dims = [3, 0, 1, 2, 4] : (tensor<2x3x512x4x512xf32>) -> tensor<4x2x3x512x512xf32>
  return %2 : tensor<4x2x3x512x512xf32>
}

// Weights with a group in front: the values are the same for each member.
// CHECK-LABEL: @group_of_operand
// CHECK: %[[V:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3, 4] : (tensor<2x512x3x8xf32>) -> tensor<4x2x512x3x8xf32>
// CHECK: stablehlo.dot_general %arg0, %[[V]], batching_dims = [1, 2, 0] x [1, 3, 0], contracting_dims = [4] x [2]
// CHECK-SAME: -> tensor<2x3x4x512x8xf32>
func.func @group_of_operand(%w: tensor<4x2x3x512x512xf32>, %v: tensor<2x512x3x8xf32>) -> tensor<2x3x4x512x8xf32> {
  %0 = stablehlo.dot_general %w, %v, batching_dims = [1, 2] x [0, 2], contracting_dims = [4] x [1] : (tensor<4x2x3x512x512xf32>, tensor<2x512x3x8xf32>) -> tensor<2x3x4x512x8xf32>
  return %0 : tensor<2x3x4x512x8xf32>
}

// Summed over the group too: each member's sum, then the sum of those, exactly enough.
// CHECK-LABEL: @sum_over_group
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [1, 2, 0] x [0, 2, 3], contracting_dims = [3] x [1]
// CHECK-SAME: (tensor<4x2x3x512x512xbf16>, tensor<2x512x3x4x8xbf16>) -> tensor<2x3x4x512x8xf32>
// CHECK: %[[S:.*]] = stablehlo.reduce(%[[D]] init: %{{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<2x3x4x512x8xf32>, tensor<f32>) -> tensor<2x3x512x8xf32>
// CHECK: stablehlo.convert %[[S]] : (tensor<2x3x512x8xf32>) -> tensor<2x3x512x8xbf16>
func.func @sum_over_group(%w: tensor<4x2x3x512x512xbf16>, %g: tensor<2x512x3x4x8xbf16>) -> tensor<2x3x512x8xbf16> {
  %0 = stablehlo.dot_general %w, %g, batching_dims = [1, 2] x [0, 2], contracting_dims = [0, 3] x [3, 1] : (tensor<4x2x3x512x512xbf16>, tensor<2x512x3x4x8xbf16>) -> tensor<2x3x512x8xbf16>
  return %0 : tensor<2x3x512x8xbf16>
}

// A transpose in front of what scales the operand of products goes to the products, which read any order.
// CHECK-LABEL: @transpose_to_users
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[M:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<2x512x256xf32>
// CHECK: stablehlo.dot_general %[[M]], %arg1, batching_dims = [0] x [0], contracting_dims = [1] x [1]
func.func @transpose_to_users(%w: tensor<2x512x256xf32>, %k: tensor<2x512x8xf32>) -> tensor<2x256x8xf32> {
  %half = stablehlo.constant dense<0.5> : tensor<2x256x512xf32>
  %0 = stablehlo.transpose %w, dims = [0, 2, 1] : (tensor<2x512x256xf32>) -> tensor<2x256x512xf32>
  %1 = stablehlo.multiply %0, %half : tensor<2x256x512xf32>
  %2 = stablehlo.dot_general %1, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x256x512xf32>, tensor<2x512x8xf32>) -> tensor<2x256x8xf32>
  return %2 : tensor<2x256x8xf32>
}

// The other operand is not small: it stays as it is.
// CHECK-LABEL: @large_other
// CHECK-NOT: broadcast_in_dim
// CHECK: stablehlo.transpose
func.func @large_other(%q: tensor<2x64x3x4x64xf32>, %k: tensor<2x64x3x64xf32>) -> tensor<4x2x3x64x64xf32> {
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x64x3x4x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x3x64x4x64xf32>
  %1 = stablehlo.transpose %0, dims = [3, 0, 1, 2, 4] : (tensor<2x3x64x4x64xf32>) -> tensor<4x2x3x64x64xf32>
  return %1 : tensor<4x2x3x64x64xf32>
}

// A matrix that is the same for all batches, which the other operand has behind its others, is multiplied once by all of them.
// CHECK-LABEL: @broadcast_batches
// CHECK: %[[R:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [3] x [1]
// CHECK-SAME: (tensor<2x5x4x64xf32>, tensor<2x64x8xf32>) -> tensor<2x5x4x8xf32>
// CHECK: stablehlo.transpose %[[R]], dims = [0, 2, 1, 3]
func.func @broadcast_batches(%x: tensor<2x5x4x64xf32>, %y: tensor<2x64x8xf32>) -> tensor<2x4x5x8xf32> {
  %0 = stablehlo.broadcast_in_dim %y, dims = [1, 2, 3] : (tensor<2x64x8xf32>) -> tensor<4x2x64x8xf32>
  %1 = stablehlo.dot_general %x, %0, batching_dims = [0, 2] x [1, 0], contracting_dims = [3] x [2] : (tensor<2x5x4x64xf32>, tensor<4x2x64x8xf32>) -> tensor<2x4x5x8xf32>
  return %1 : tensor<2x4x5x8xf32>
}
