// What slices alone read is computed and moved for what they keep.
// RUN: isthmus-opt %s -split-input-file -simplify | FileCheck %s

// CHECK-LABEL: @moves
// A gather takes fewer indices, a transpose fewer rows.
// CHECK: %[[INDICES:.*]] = stablehlo.slice %arg1 [0:10, 0:1]
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"({{.*}}, %[[INDICES]])
// CHECK: %[[CONVERTED:.*]] = stablehlo.convert %[[ROWS]] : (tensor<10x100xi32>) -> tensor<10x100xf32>
// CHECK: return %[[CONVERTED]]
func.func @moves(%x: tensor<100x70xi32>, %i: tensor<30x1xi32>) -> tensor<10x100xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<100x70xi32>) -> tensor<70x100xi32>
  %g = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 100>}> : (tensor<70x100xi32>, tensor<30x1xi32>) -> tensor<30x100xi32>
  %c = stablehlo.convert %g : (tensor<30x100xi32>) -> tensor<30x100xf32>
  %0 = stablehlo.slice %c [0:10, 0:100] : (tensor<30x100xf32>) -> tensor<10x100xf32>
  return %0 : tensor<10x100xf32>
}

// -----

// CHECK-LABEL: @reverse
// CHECK: stablehlo.slice %arg0 [3:10:2, 9:10]
// CHECK: stablehlo.reverse {{.*}} : tensor<4x1xf32>
// CHECK: stablehlo.slice %arg0 [9:10, 0:10]
// CHECK: stablehlo.reverse {{.*}} : tensor<1x10xf32>
func.func @reverse(%x: tensor<10x10xf32>) -> (tensor<4x1xf32>, tensor<1x10xf32>) {
  %r = stablehlo.reverse %x, dims = [0, 1] : tensor<10x10xf32>
  %0 = stablehlo.slice %r [0:7:2, 0:1] : (tensor<10x10xf32>) -> tensor<4x1xf32>
  %1 = stablehlo.slice %r [0:1, 0:10] : (tensor<10x10xf32>) -> tensor<1x10xf32>
  return %0, %1 : tensor<4x1xf32>, tensor<1x10xf32>
}

// -----

// The rows of a merged dimension that are kept; of stretches that begin inside of a row, all is made.
// CHECK-LABEL: @reshape
// CHECK: stablehlo.slice %arg0 [1:3, 0:8]
// CHECK: stablehlo.tanh {{.*}} : tensor<2x8xf32>
// CHECK: stablehlo.slice %arg0 [3:4, 2:5]
// CHECK: stablehlo.sine {{.*}} : tensor<1x3xf32>
// CHECK: stablehlo.cosine {{.*}} : tensor<10x8xf32>
func.func @reshape(%x: tensor<10x8xf32>) -> (tensor<16xf32>, tensor<3xf32>, tensor<16xf32>) {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<10x8xf32>) -> tensor<8x10xf32>
  %u = stablehlo.transpose %t, dims = [1, 0] : (tensor<8x10xf32>) -> tensor<10x8xf32>
  %f = stablehlo.tanh %u : tensor<10x8xf32>
  %r = stablehlo.reshape %f : (tensor<10x8xf32>) -> tensor<80xf32>
  %0 = stablehlo.slice %r [8:24] : (tensor<80xf32>) -> tensor<16xf32>
  %g = stablehlo.sine %x : tensor<10x8xf32>
  %s = stablehlo.reshape %g : (tensor<10x8xf32>) -> tensor<80xf32>
  %1 = stablehlo.slice %s [26:29] : (tensor<80xf32>) -> tensor<3xf32>
  %h = stablehlo.cosine %x : tensor<10x8xf32>
  %v = stablehlo.reverse %h, dims = [0] : tensor<10x8xf32>
  %q = stablehlo.reshape %v : (tensor<10x8xf32>) -> tensor<80xf32>
  %2 = stablehlo.slice %q [4:20] : (tensor<80xf32>) -> tensor<16xf32>
  return %0, %1, %2 : tensor<16xf32>, tensor<3xf32>, tensor<16xf32>
}

// -----

// CHECK-LABEL: @pad_and_join
// The padding that is kept.
// CHECK: stablehlo.slice %arg0 [0:3]
// CHECK: stablehlo.pad {{.*}}, low = [2], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
// Padding alone.
// CHECK: stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2xf32>
// Every third of each part.
// CHECK: %[[FIRST:.*]] = stablehlo.slice %arg0 [1:8:3] : (tensor<8xf32>) -> tensor<3xf32>
// CHECK: %[[SECOND:.*]] = stablehlo.slice %arg0 [2:8:3] : (tensor<8xf32>) -> tensor<2xf32>
// CHECK: stablehlo.concatenate %[[FIRST]], %[[SECOND]], dim = 0
func.func @pad_and_join(%x: tensor<8xf32>, %v: tensor<f32>) -> (tensor<5xf32>, tensor<2xf32>, tensor<5xf32>) {
  %p = stablehlo.pad %x, %v, low = [4], high = [3], interior = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<15xf32>
  %0 = stablehlo.slice %p [2:7] : (tensor<15xf32>) -> tensor<5xf32>
  %1 = stablehlo.slice %p [13:15] : (tensor<15xf32>) -> tensor<2xf32>
  %j = stablehlo.concatenate %x, %x, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %2 = stablehlo.slice %j [1:16:3] : (tensor<16xf32>) -> tensor<5xf32>
  return %0, %1, %2 : tensor<5xf32>, tensor<2xf32>, tensor<5xf32>
}

// -----

// The logits of the last token need no others; rows are normalized by what they are, twice read.
// CHECK-LABEL: @last_token
// CHECK: %[[X:.*]] = stablehlo.slice %arg0 [0:2, 15:16, 0:32]
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [2] : (tensor<2x1x32xf32>, tensor<f32>)
// CHECK: stablehlo.subtract {{.*}} : tensor<2x1x32xf32>
// CHECK: stablehlo.dot_general {{.*}} : (tensor<2x1x32xf32>, tensor<32x100xf32>) -> tensor<2x1x100xf32>
func.func @last_token(%x: tensor<2x16x32xf32>, %w: tensor<32x100xf32>) -> tensor<2x1x100xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<2x16x32xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x16x32xf32>, tensor<f32>) -> tensor<2x16xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0, 1] : (tensor<2x16xf32>) -> tensor<2x16x32xf32>
  %n = stablehlo.subtract %e, %b : tensor<2x16x32xf32>
  %d = stablehlo.dot_general %n, %w, contracting_dims = [2] x [0] : (tensor<2x16x32xf32>, tensor<32x100xf32>) -> tensor<2x16x100xf32>
  %0 = stablehlo.slice %d [0:2, 15:16, 0:100] : (tensor<2x16x100xf32>) -> tensor<2x1x100xf32>
  return %0 : tensor<2x1x100xf32>
}

// -----

// What others read is made as a whole, and so is what two slices keep most of. A product of one
// array with itself keeps all of it on one side.
// CHECK-LABEL: @whole
// CHECK: %[[TANH:.*]] = stablehlo.tanh %arg0 : tensor<10x10xf32>
// CHECK: stablehlo.slice %[[TANH]] [0:2, 0:10]
// CHECK: %[[SINE:.*]] = stablehlo.sine %arg0 : tensor<10x10xf32>
// CHECK: stablehlo.slice %[[SINE]] [1:10, 0:10]
// CHECK: %[[COSINE:.*]] = stablehlo.cosine %arg0 : tensor<10x10xf32>
// CHECK: %[[ROWS:.*]] = stablehlo.slice %[[COSINE]] [0:2, 0:10]
// CHECK: stablehlo.dot_general %[[ROWS]], %[[COSINE]]
func.func @whole(%x: tensor<10x10xf32>) -> (tensor<10x10xf32>, tensor<2x10xf32>, tensor<9x10xf32>, tensor<2x10xf32>) {
  %f = stablehlo.tanh %x : tensor<10x10xf32>
  %0 = stablehlo.slice %f [0:2, 0:10] : (tensor<10x10xf32>) -> tensor<2x10xf32>
  %g = stablehlo.sine %x : tensor<10x10xf32>
  %a = stablehlo.slice %g [1:10, 0:10] : (tensor<10x10xf32>) -> tensor<9x10xf32>
  %b = stablehlo.slice %g [0:9, 0:10] : (tensor<10x10xf32>) -> tensor<9x10xf32>
  %1 = stablehlo.subtract %a, %b : tensor<9x10xf32>
  %h = stablehlo.cosine %x : tensor<10x10xf32>
  %d = stablehlo.dot_general %h, %h, contracting_dims = [1] x [1] : (tensor<10x10xf32>, tensor<10x10xf32>) -> tensor<10x10xf32>
  %2 = stablehlo.slice %d [0:2, 0:10] : (tensor<10x10xf32>) -> tensor<2x10xf32>
  return %f, %0, %1, %2 : tensor<10x10xf32>, tensor<2x10xf32>, tensor<9x10xf32>, tensor<2x10xf32>
}

// -----

// One element, however large the stride.
// CHECK-LABEL: @stride
// CHECK: stablehlo.slice %arg1 [1:{{[0-9]+}}:9223372036854775807] : (tensor<8xf32>) -> tensor<1xf32>
func.func @stride(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<1xf32> {
  %j = stablehlo.concatenate %x, %y, %x, dim = 0 : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<24xf32>
  %0 = stablehlo.slice %j [9:24:9223372036854775807] : (tensor<24xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
