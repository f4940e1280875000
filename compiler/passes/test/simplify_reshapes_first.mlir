// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// CHECK-LABEL: @before_a_reduction
// CHECK-SAME: (%[[X:.*]]: tensor<64xf32>, %[[Y:.*]]: tensor<64xf32>)
// CHECK: %[[A:.*]] = stablehlo.reshape %[[X]] : (tensor<64xf32>) -> tensor<8x8xf32>
// CHECK: %[[E:.*]] = stablehlo.negate %[[A]] : tensor<8x8xf32>
// CHECK: %[[B:.*]] = stablehlo.reshape %[[Y]] : (tensor<64xf32>) -> tensor<8x8xf32>
// CHECK: %[[M:.*]] = stablehlo.multiply %[[E]], %[[B]] : tensor<8x8xf32>
// CHECK: %[[D:.*]] = stablehlo.add %[[M]], %[[E]] : tensor<8x8xf32>
// CHECK-NOT: stablehlo.reshape
// CHECK: stablehlo.reduce(%[[D]]
func.func @before_a_reduction(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.negate %x : tensor<64xf32>
  %m = stablehlo.multiply %e, %y : tensor<64xf32>
  %d = stablehlo.add %m, %e : tensor<64xf32>
  %r = stablehlo.reshape %d : (tensor<64xf32>) -> tensor<8x8xf32>
  %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// -----

// Types change on the way, and a scalar stays one.
// CHECK-LABEL: @of_other_types
// CHECK: %[[A:.*]] = stablehlo.reshape %{{.*}} : (tensor<6xi32>) -> tensor<2x3xi32>
// CHECK: stablehlo.clamp %{{.*}}, %[[A]], %{{.*}} : (tensor<i32>, tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<2x3xi32>) -> tensor<2x3xf32>
// CHECK: stablehlo.negate %{{.*}} : tensor<2x3xf32>
func.func @of_other_types(%x: tensor<6xi32>, %low: tensor<i32>, %high: tensor<i32>) -> tensor<2x3xf32> {
  %c = stablehlo.clamp %low, %x, %high : (tensor<i32>, tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
  %f = stablehlo.convert %c : (tensor<6xi32>) -> tensor<6xf32>
  %r = stablehlo.reshape %f : (tensor<6xf32>) -> tensor<2x3xf32>
  %n = stablehlo.negate %r : tensor<2x3xf32>
  return %n : tensor<2x3xf32>
}

// -----

// What is needed in its first shape too would be computed twice.
// CHECK-LABEL: @needed_as_it_is
// CHECK: stablehlo.exponential %{{.*}} : tensor<64xf32>
// CHECK: stablehlo.reshape
func.func @needed_as_it_is(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<8x8xf32>) {
  %e = stablehlo.exponential %x : tensor<64xf32>
  %r = stablehlo.reshape %e : (tensor<64xf32>) -> tensor<8x8xf32>
  %n = stablehlo.negate %r : tensor<8x8xf32>
  return %e, %n : tensor<64xf32>, tensor<8x8xf32>
}

// -----

// The reshape of a broadcast row is an array in memory, the row was none.
// CHECK-LABEL: @after_a_broadcast
// CHECK: stablehlo.add %{{.*}} : tensor<8x8xf32>
// CHECK: stablehlo.reshape
func.func @after_a_broadcast(%x: tensor<8x8xf32>, %row: tensor<8xf32>) -> tensor<64xf32> {
  %b = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %a = stablehlo.add %x, %b : tensor<8x8xf32>
  %r = stablehlo.reshape %a : (tensor<8x8xf32>) -> tensor<64xf32>
  %n = stablehlo.negate %r : tensor<64xf32>
  return %n : tensor<64xf32>
}

// -----

// The work on a product is the epilogue of its kernel, in the shape of the product.
// CHECK-LABEL: @after_a_product
// CHECK: stablehlo.exponential %{{.*}} : tensor<8x8xf32>
// CHECK: stablehlo.reshape
func.func @after_a_product(%x: tensor<8x8xf32>) -> tensor<64xf32> {
  %p = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %e = stablehlo.exponential %p : tensor<8x8xf32>
  %r = stablehlo.reshape %e : (tensor<8x8xf32>) -> tensor<64xf32>
  %n = stablehlo.negate %r : tensor<64xf32>
  return %n : tensor<64xf32>
}

// -----

// Rows of a few elements are no place for functions that take long; columns are.
// CHECK-LABEL: @costly
// CHECK: stablehlo.exponential %{{.*}} : tensor<64xf32>
// CHECK: stablehlo.exponential %{{.*}} : tensor<16x4xf32>
func.func @costly(%x: tensor<64xf32>, %y: tensor<64xf32>) -> (tensor<16xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<64xf32>
  %r = stablehlo.reshape %e : (tensor<64xf32>) -> tensor<16x4xf32>
  %n = stablehlo.negate %r : tensor<16x4xf32>
  %s = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
  %f = stablehlo.exponential %y : tensor<64xf32>
  %q = stablehlo.reshape %f : (tensor<64xf32>) -> tensor<16x4xf32>
  %t = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x4xf32>, tensor<f32>) -> tensor<4xf32>
  return %s, %t : tensor<16xf32>, tensor<4xf32>
}

// -----

// What follows a transpose or a product is done with it, before the reshape.
// CHECK-LABEL: @after_what_moves
// CHECK: %[[MOVED:.*]] = stablehlo.transpose
// CHECK: %[[OTHER:.*]] = stablehlo.reshape %arg1
// CHECK: %[[SUM:.*]] = stablehlo.add %[[MOVED]], %[[OTHER]] : tensor<4x8x16xf32>
// CHECK: stablehlo.maximum %[[SUM]], %{{.*}} : tensor<4x8x16xf32>
// CHECK: stablehlo.reshape
func.func @after_what_moves(%x: tensor<8x4x16xf32>, %y: tensor<32x16xf32>) -> tensor<32x16xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<32x16xf32>
  %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  %r = stablehlo.reshape %t : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
  %s = stablehlo.add %r, %y : tensor<32x16xf32>
  %m = stablehlo.maximum %s, %zeros : tensor<32x16xf32>
  return %m : tensor<32x16xf32>
}

// -----

// Not where what is made wider has other readers, rows are short, or another operand has the shape.
// CHECK-LABEL: @in_their_shape
// CHECK: stablehlo.convert %{{.*}} : (tensor<32x16xbf16>) -> tensor<32x16xf32>
// CHECK: stablehlo.tanh %{{.*}} : tensor<128xf32>
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<32x16xf32>
func.func @in_their_shape(%x: tensor<8x4x16xbf16>, %y: tensor<4x8x4xf32>, %u: tensor<8x4x16xf32>, %v: tensor<32x8xf32>) -> (tensor<32xf32>, tensor<128xf32>, tensor<32x16xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<8x4x16xbf16>) -> tensor<4x8x16xbf16>
  %r = stablehlo.reshape %t : (tensor<4x8x16xbf16>) -> tensor<32x16xbf16>
  %c = stablehlo.convert %r : (tensor<32x16xbf16>) -> tensor<32x16xf32>
  %0 = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<32xf32>
  %p = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<4x8x4xf32>) -> tensor<8x4x4xf32>
  %q = stablehlo.reshape %p : (tensor<8x4x4xf32>) -> tensor<128xf32>
  %1 = stablehlo.tanh %q : tensor<128xf32>
  %w = stablehlo.transpose %u, dims = [1, 0, 2] : (tensor<8x4x16xf32>) -> tensor<4x8x16xf32>
  %s = stablehlo.reshape %w : (tensor<4x8x16xf32>) -> tensor<32x16xf32>
  %d = stablehlo.concatenate %v, %v, dim = 1 : (tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<32x16xf32>
  %2 = stablehlo.add %s, %d : tensor<32x16xf32>
  return %0, %1, %2 : tensor<32xf32>, tensor<128xf32>, tensor<32x16xf32>
}
