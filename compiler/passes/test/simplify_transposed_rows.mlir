// Transposes between two products that keep rows whole.
// RUN: isthmus-opt %s -simplify | FileCheck %s

// Softmax of scores whose groups vmap has put in front behind the maxima: rows stay where the first product has them, and the
// second one gives the groups behind its other rows.
// CHECK-LABEL: @softmax
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[S:.*]] = stablehlo.dot_general %arg0, %arg1{{.*}} -> tensor<2x3x16x4x512xf32>
// CHECK: %[[MAX:.*]] = stablehlo.reduce(%[[S]]
// CHECK: %[[MAXIMA:.*]] = stablehlo.broadcast_in_dim %[[MAX]], dims = [0, 1, 2, 3] : (tensor<2x3x16x4xf32>) -> tensor<2x3x16x4x512xf32>
// CHECK: %[[SHIFTED:.*]] = stablehlo.subtract %[[S]], %[[MAXIMA]]
// CHECK: %[[E:.*]] = stablehlo.exponential %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[E]]
// CHECK: %[[SUMS:.*]] = stablehlo.broadcast_in_dim %[[SUM]], dims = [0, 1, 2, 3]
// CHECK: %[[W:.*]] = stablehlo.divide %[[E]], %[[SUMS]]
// CHECK: stablehlo.dot_general %[[W]], %arg2, batching_dims = [0, 1] x [0, 2], contracting_dims = [4] x [1] {{.*}} -> tensor<2x3x16x4x8xf32>
func.func @softmax(%q: tensor<2x16x3x4x8xf32>, %k: tensor<2x512x3x8xf32>, %v: tensor<2x512x3x8xf32>) -> tensor<2x16x3x4x8xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x16x3x4x8xf32>, tensor<2x512x3x8xf32>) -> tensor<2x3x16x4x512xf32>
  %max = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x16x4x512xf32>, tensor<f32>) -> tensor<2x3x16x4xf32>
  %m = stablehlo.transpose %max, dims = [3, 0, 1, 2] : (tensor<2x3x16x4xf32>) -> tensor<4x2x3x16xf32>
  %t = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : (tensor<2x3x16x4x512xf32>) -> tensor<4x2x3x16x512xf32>
  %ms = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : (tensor<4x2x3x16xf32>) -> tensor<4x2x3x16x512xf32>
  %d = stablehlo.subtract %t, %ms : tensor<4x2x3x16x512xf32>
  %e = stablehlo.exponential %d : tensor<4x2x3x16x512xf32>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [4] : (tensor<4x2x3x16x512xf32>, tensor<f32>) -> tensor<4x2x3x16xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2, 3] : (tensor<4x2x3x16xf32>) -> tensor<4x2x3x16x512xf32>
  %w = stablehlo.divide %e, %sums : tensor<4x2x3x16x512xf32>
  %r = stablehlo.dot_general %v, %w, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4] : (tensor<2x512x3x8xf32>, tensor<4x2x3x16x512xf32>) -> tensor<2x3x8x4x16xf32>
  %result = stablehlo.transpose %r, dims = [0, 4, 1, 3, 2] : (tensor<2x3x8x4x16xf32>) -> tensor<2x16x3x4x8xf32>
  return %result : tensor<2x16x3x4x8xf32>
}

// Where something else reads the rows as they are transposed, the product gives them so, and its rows are reduced in that order;
// what scales the maxima does not keep their transpose from the one that takes it back.
// CHECK-LABEL: @read_elsewhere
// CHECK: %[[K:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [1, 2, 3, 4]
// CHECK: %[[S:.*]] = stablehlo.dot_general %arg0, %[[K]]{{.*}} -> tensor<4x2x3x256x512xf32>
// CHECK: %[[MAX:.*]] = stablehlo.reduce(%[[S]] {{.*}} -> tensor<4x2x3x256xf32>
// CHECK: %[[HALF:.*]] = stablehlo.multiply %[[MAX]]
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[HALVES:.*]] = stablehlo.broadcast_in_dim %[[HALF]], dims = [0, 1, 2, 3]
// CHECK: %[[D:.*]] = stablehlo.subtract %[[S]], %[[HALVES]]
// CHECK: return %[[D]]
func.func @read_elsewhere(%q: tensor<2x256x3x4x8xf32>, %k: tensor<2x512x3x8xf32>) -> tensor<4x2x3x256x512xf32> {
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %halves = stablehlo.constant dense<0.5> : tensor<2x3x256x4xf32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3] : (tensor<2x256x3x4x8xf32>, tensor<2x512x3x8xf32>) -> tensor<2x3x256x4x512xf32>
  %max = stablehlo.reduce(%s init: %lowest) applies stablehlo.maximum across dimensions = [4] : (tensor<2x3x256x4x512xf32>, tensor<f32>) -> tensor<2x3x256x4xf32>
  %half = stablehlo.multiply %max, %halves : tensor<2x3x256x4xf32>
  %m = stablehlo.transpose %half, dims = [3, 0, 1, 2] : (tensor<2x3x256x4xf32>) -> tensor<4x2x3x256xf32>
  %t = stablehlo.transpose %s, dims = [3, 0, 1, 2, 4] : (tensor<2x3x256x4x512xf32>) -> tensor<4x2x3x256x512xf32>
  %ms = stablehlo.broadcast_in_dim %m, dims = [0, 1, 2, 3] : (tensor<4x2x3x256xf32>) -> tensor<4x2x3x256x512xf32>
  %d = stablehlo.subtract %t, %ms : tensor<4x2x3x256x512xf32>
  return %d : tensor<4x2x3x256x512xf32>
}

// -----

// Reductions leave little to be transposed: they read the array as it is.
// CHECK-LABEL: @reductions_of_a_transpose
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<100x70x5xf32>
// CHECK: %[[SUM_MOVED:.*]] = stablehlo.transpose %[[SUM]], dims = [1, 0] : (tensor<70x5xf32>) -> tensor<5x70xf32>
// CHECK: %[[SCALED:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<100x70x5xf32>
// CHECK: stablehlo.reduce(%[[SCALED]] init: %{{.*}}) applies stablehlo.maximum across dimensions = [0, 1]
// CHECK: %[[PART:.*]] = stablehlo.slice %arg0 [99:100, 3:9:2, 0:5]
// CHECK: stablehlo.transpose %[[PART]], dims = [2, 1, 0] : (tensor<1x3x5xf32>) -> tensor<5x3x1xf32>
func.func @reductions_of_a_transpose(%x: tensor<100x70x5xf32>, %y: tensor<5xf32>) -> (tensor<5x70xf32>, tensor<5xf32>, tensor<5x3x1xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<100x70x5xf32>) -> tensor<5x70x100xf32>
  %0 = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [2] : (tensor<5x70x100xf32>, tensor<f32>) -> tensor<5x70xf32>
  %b = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<5xf32>) -> tensor<5x70x100xf32>
  %m = stablehlo.multiply %t, %b : tensor<5x70x100xf32>
  %1 = stablehlo.reduce(%m init: %z) applies stablehlo.maximum across dimensions = [1, 2] : (tensor<5x70x100xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = stablehlo.slice %t [0:5, 3:9:2, 99:100] : (tensor<5x70x100xf32>) -> tensor<5x3x1xf32>
  return %0, %1, %2 : tensor<5x70xf32>, tensor<5xf32>, tensor<5x3x1xf32>
}

// -----

// Where something else needs the transposed array, they read that.
// CHECK-LABEL: @transpose_that_stays
// CHECK: %[[T:.*]] = stablehlo.transpose %arg0
// CHECK: stablehlo.reduce(%[[T]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
func.func @transpose_that_stays(%x: tensor<100x70xf32>) -> (tensor<70xf32>, tensor<70x100xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<100x70xf32>) -> tensor<70x100xf32>
  %0 = stablehlo.reduce(%t init: %z) applies stablehlo.add across dimensions = [1] : (tensor<70x100xf32>, tensor<f32>) -> tensor<70xf32>
  return %0, %t : tensor<70xf32>, tensor<70x100xf32>
}

// -----

// A product gives its transpose for nothing: x' A x of each row x (einsum "ni,ij,nj->n").
// CHECK-LABEL: @quadratic_forms
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[AX:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1]
// CHECK: %[[TERMS:.*]] = stablehlo.multiply %arg0, %[[AX]] : tensor<500x16xf32>
// CHECK: stablehlo.reduce(%[[TERMS]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
func.func @quadratic_forms(%x: tensor<500x16xf32>, %a: tensor<16x16xf32>) -> tensor<500xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %ax = stablehlo.dot_general %a, %x, contracting_dims = [1] x [1] : (tensor<16x16xf32>, tensor<500x16xf32>) -> tensor<16x500xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<500x16xf32>) -> tensor<16x500xf32>
  %m = stablehlo.multiply %t, %ax : tensor<16x500xf32>
  %0 = stablehlo.reduce(%m init: %z) applies stablehlo.add across dimensions = [0] : (tensor<16x500xf32>, tensor<f32>) -> tensor<500xf32>
  return %0 : tensor<500xf32>
}
