// Rows of a product that are worked on and multiplied again are computed some at a time and not stored.
// RUN: isthmus-opt %s -fuse -fuse-attention -fuse-epilogues -schedule | FileCheck %s
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -fuse -fuse-attention 2>&1 | FileCheck %s --check-prefix=LOG

// The kernel of the rows has a tile for each, and the result is written as it is transposed.
// CHECK-LABEL: @softmax
// CHECK: isthmus.fusion
// CHECK-SAME: schedule = ["attention results=0 chunk=64 ns={{[^"]*}}"]
// CHECK: stablehlo.dot_general
// CHECK: isthmus.fusion
// CHECK-SAME: schedule = ["loop results=0 dims=0-2:1024,3:256 lanes=4 cuts=0,256 tiled=1 chunk=256 reduce=
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.transpose
func.func @softmax(%q: tensor<2x128x4x64xf32>, %k: tensor<2x256x4x64xf32>, %v: tensor<2x256x4x64xf32>) -> tensor<2x128x4x64xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x128x4x64xf32>, tensor<2x256x4x64xf32>) -> tensor<2x4x128x256xf32>
  %1 = stablehlo.reduce(%0 init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x128x256xf32>, tensor<f32>) -> tensor<2x4x128xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x256xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<2x4x128x256xf32>
  %4 = stablehlo.exponential %3 : tensor<2x4x128x256xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x128x256xf32>, tensor<f32>) -> tensor<2x4x128xf32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x256xf32>
  %7 = stablehlo.divide %4, %6 : tensor<2x4x128x256xf32>
  %8 = stablehlo.dot_general %v, %7, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x256x4x64xf32>, tensor<2x4x128x256xf32>) -> tensor<2x4x64x128xf32>
  %9 = stablehlo.transpose %8, dims = [0, 3, 1, 2] : (tensor<2x4x64x128xf32>) -> tensor<2x128x4x64xf32>
  return %9 : tensor<2x128x4x64xf32>
}

// Weights that are a result are stored, and so is everything.
// CHECK-LABEL: @kept
// CHECK-NOT: "attention
func.func @kept(%q: tensor<512x64xf32>, %k: tensor<512x64xf32>, %v: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512x512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %3 = stablehlo.divide %0, %2 : tensor<512x512xf32>
  %4 = stablehlo.dot_general %3, %v, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %4, %3 : tensor<512x64xf32>, tensor<512x512xf32>
}

// A product that sums over the rows is one of a gradient.
// CHECK-LABEL: @sums_of_rows
// CHECK: "attention results=0 chunk=64
func.func @sums_of_rows(%q: tensor<512x64xf32>, %k: tensor<512x64xf32>, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %3 = stablehlo.divide %0, %2 : tensor<512x512xf32>
  %4 = stablehlo.dot_general %3, %v, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %4 : tensor<512x64xf32>
}

// LOG-DAG: rows of products{{.*}} are stored: the second product sums other dimensions than the rows'
// CHECK-LABEL: @other_sums
// CHECK-NOT: "attention
func.func @other_sums(%q: tensor<4x128x64xf32>, %k: tensor<4x128x64xf32>, %v: tensor<4x128x64xf32>) -> tensor<128x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<4x128x128xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x128x128xf32>, tensor<f32>) -> tensor<4x128xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<4x128xf32>) -> tensor<4x128x128xf32>
  %3 = stablehlo.divide %0, %2 : tensor<4x128x128xf32>
  %4 = stablehlo.dot_general %3, %v, contracting_dims = [0, 1] x [0, 1] : (tensor<4x128x128xf32>, tensor<4x128x64xf32>) -> tensor<128x64xf32>
  return %4 : tensor<128x64xf32>
}

// CHECK-LABEL: @mixed
// CHECK-NOT: "attention
// LOG-DAG: rows of products{{.*}} are stored: nothing is reduced in rows, or rows depend on each other
func.func @mixed(%q: tensor<512x64xf32>, %k: tensor<512x64xf32>, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<512x512xf32>
  %2 = stablehlo.add %0, %1 : tensor<512x512xf32>
  %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %3 : tensor<512x64xf32>
}

// Few and short rows are not stored either; those that a call has are reduced in blocks.
// CHECK-LABEL: @short
// CHECK: schedule = ["attention results=0 chunk=64
// CHECK: schedule = ["loop results=0 dims=0:64,1:64 order=blocks@0 block=4 lanes=4 cuts=0,64 reduce=
func.func @short(%q: tensor<64x64xf32>, %k: tensor<64x64xf32>, %v: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.exponential %0 : tensor<64x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<64x64xf32>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %5 : tensor<64x64xf32>
}

// A view of a product that attention reads stays outside: it was once taken in as of an epilogue.
// CHECK-LABEL: @projected
// CHECK: stablehlo.reshape {{.*}} -> tensor<4x64x64xf32>
// CHECK: schedule = ["attention results=0
func.func @projected(%x: tensor<256x64xf32>, %w: tensor<64x64xf32>, %k: tensor<4x64x64xf32>, %v: tensor<4x64x64xf32>) -> tensor<4x64x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %product = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x64xf32>) -> tensor<256x64xf32>
  %q = stablehlo.reshape %product : (tensor<256x64xf32>) -> tensor<4x64x64xf32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %1 = stablehlo.exponential %0 : tensor<4x64x64xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x64x64xf32>, tensor<f32>) -> tensor<4x64xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<4x64xf32>) -> tensor<4x64x64xf32>
  %4 = stablehlo.divide %1, %3 : tensor<4x64x64xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x64x64xf32>, tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  return %5 : tensor<4x64x64xf32>
}

// Nor are those of a single row for each batch item.
// CHECK-LABEL: @one_row
// CHECK: schedule = ["attention results=0
func.func @one_row(%q: tensor<32x1x64xf32>, %k: tensor<32x128x64xf32>, %v: tensor<32x128x64xf32>) -> tensor<32x1x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<32x1x64xf32>, tensor<32x128x64xf32>) -> tensor<32x1x128xf32>
  %1 = stablehlo.exponential %0 : tensor<32x1x128xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<32x1x128xf32>, tensor<f32>) -> tensor<32x1xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x1x128xf32>
  %4 = stablehlo.divide %1, %3 : tensor<32x1x128xf32>
  %5 = stablehlo.dot_general %4, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<32x1x128xf32>, tensor<32x128x64xf32>) -> tensor<32x1x64xf32>
  return %5 : tensor<32x1x64xf32>
}

// LOG-DAG: rows of products{{.*}} are stored: there are few rows for threads to share
func.func @few_rows(%q: tensor<8x4096xf32>, %k: tensor<1024x4096xf32>, %v: tensor<1024x4096xf32>) -> tensor<8x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<8x4096xf32>, tensor<1024x4096xf32>) -> tensor<8x1024xf32>
  %1 = stablehlo.exponential %0 : tensor<8x1024xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x1024xf32>, tensor<f32>) -> tensor<8xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<8xf32>) -> tensor<8x1024xf32>
  %4 = stablehlo.divide %1, %3 : tensor<8x1024xf32>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<8x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x4096xf32>
  return %5 : tensor<8x4096xf32>
}

// The gradient computes the weights again, from scores of its own, and all three products are one kernel's; what reads one
// of them before the others are computed comes after it.
// CHECK-LABEL: @gradient
// CHECK: %[[OUT:.*]] = "isthmus.fusion"
// CHECK-SAME: schedule = ["attention results=0 chunk=
// CHECK: %[[IN:.*]] = "isthmus.fusion"(%[[OUT]])
// CHECK: stablehlo.cosine
// CHECK: %[[GRADIENTS:.*]]:3 = "isthmus.fusion"
// CHECK-SAME: schedule = ["attention results=0,1,2 chunk=32
// CHECK-COUNT-2: stablehlo.dot_general
// CHECK: "isthmus.fusion"
// CHECK-SAME: schedule = ["loop results=0,1 dims=0:2048,1:2048
// CHECK: isthmus.yield %{{.*}}, %{{.*}} : tensor<2048x2048xf32>, tensor<2048x2048xf32>
// CHECK-COUNT-3: stablehlo.dot_general
// CHECK: "isthmus.fusion"(%[[GRADIENTS]]#
// CHECK: stablehlo.sine
func.func @gradient(%q: tensor<2048x64xf32>, %k: tensor<2048x64xf32>, %v: tensor<2048x64xf32>) -> (tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %1 = stablehlo.exponential %0 : tensor<2048x2048xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %4 = stablehlo.divide %1, %3 : tensor<2048x2048xf32>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %6 = stablehlo.cosine %5 : tensor<2048x64xf32>
  %7 = stablehlo.dot_general %4, %6, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %8 = stablehlo.sine %7 : tensor<2048x64xf32>
  %9 = stablehlo.dot_general %6, %v, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %10 = stablehlo.multiply %9, %4 : tensor<2048x2048xf32>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %13 = stablehlo.subtract %9, %12 : tensor<2048x2048xf32>
  %14 = stablehlo.multiply %13, %4 : tensor<2048x2048xf32>
  %15 = stablehlo.dot_general %14, %k, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %16 = stablehlo.dot_general %14, %q, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  return %15, %16, %8 : tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>
}

// Weights that are a result are stored, and read by the gradient, whose own scores are not.
// CHECK-LABEL: @kept_gradient
// CHECK: schedule = ["loop results=0
// CHECK: schedule = ["attention results=0,1 chunk=32
// LOG-DAG: weights that a gradient reads{{.*}} are stored: something else reads the weights
func.func @kept_gradient(%q: tensor<2048x64xf32>, %k: tensor<2048x64xf32>, %v: tensor<2048x64xf32>) -> (tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %1 = stablehlo.exponential %0 : tensor<2048x2048xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %4 = stablehlo.divide %1, %3 : tensor<2048x2048xf32>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %6 = stablehlo.cosine %5 : tensor<2048x64xf32>
  %7 = stablehlo.dot_general %4, %6, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %8 = stablehlo.sine %7 : tensor<2048x64xf32>
  %9 = stablehlo.dot_general %6, %v, contracting_dims = [1] x [1] : (tensor<2048x64xf32>, tensor<2048x64xf32>) -> tensor<2048x2048xf32>
  %10 = stablehlo.multiply %9, %4 : tensor<2048x2048xf32>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2048x2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %13 = stablehlo.subtract %9, %12 : tensor<2048x2048xf32>
  %14 = stablehlo.multiply %13, %4 : tensor<2048x2048xf32>
  %15 = stablehlo.dot_general %14, %k, contracting_dims = [1] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  %16 = stablehlo.dot_general %14, %q, contracting_dims = [0] x [0] : (tensor<2048x2048xf32>, tensor<2048x64xf32>) -> tensor<2048x64xf32>
  return %15, %16, %8, %4 : tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x64xf32>, tensor<2048x2048xf32>
}

// The same where computing them again would cost more.
// CHECK-LABEL: @small_gradient
// CHECK: schedule = ["loop results=0
// CHECK: schedule = ["attention results=0,1 chunk=64
// LOG-DAG: weights that a gradient reads{{.*}} are stored: they are few enough to cost less than computing them again
func.func @small_gradient(%q: tensor<512x64xf32>, %k: tensor<512x64xf32>, %v: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x512xf32>
  %1 = stablehlo.exponential %0 : tensor<512x512xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %4 = stablehlo.divide %1, %3 : tensor<512x512xf32>
  %5 = stablehlo.dot_general %4, %v, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %6 = stablehlo.cosine %5 : tensor<512x64xf32>
  %7 = stablehlo.dot_general %4, %6, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %8 = stablehlo.sine %7 : tensor<512x64xf32>
  %9 = stablehlo.dot_general %6, %v, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x512xf32>
  %10 = stablehlo.multiply %9, %4 : tensor<512x512xf32>
  %11 = stablehlo.reduce(%10 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x512xf32>, tensor<f32>) -> tensor<512xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<512xf32>) -> tensor<512x512xf32>
  %13 = stablehlo.subtract %9, %12 : tensor<512x512xf32>
  %14 = stablehlo.multiply %13, %4 : tensor<512x512xf32>
  %15 = stablehlo.dot_general %14, %k, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %16 = stablehlo.dot_general %14, %q, contracting_dims = [0] x [0] : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %15, %16, %8 : tensor<512x64xf32>, tensor<512x64xf32>, tensor<512x64xf32>
}

// LOG-DAG: rows of products and their gradients{{.*}} are stored: copies of their operands would take too much memory
func.func @dense_gradient(%x: tensor<1024x4096xf32>, %w: tensor<4096x2048xf32>) -> (tensor<1024x4096xf32>, tensor<4096x2048xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x4096xf32>, tensor<4096x2048xf32>) -> tensor<1024x2048xf32>
  %1 = stablehlo.exponential %0 : tensor<1024x2048xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x2048xf32>, tensor<f32>) -> tensor<1024xf32>
  %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<1024xf32>) -> tensor<1024x2048xf32>
  %4 = stablehlo.divide %1, %3 : tensor<1024x2048xf32>
  %5 = stablehlo.dot_general %4, %w, contracting_dims = [1] x [1] : (tensor<1024x2048xf32>, tensor<4096x2048xf32>) -> tensor<1024x4096xf32>
  %6 = stablehlo.dot_general %x, %4, contracting_dims = [0] x [0] : (tensor<1024x4096xf32>, tensor<1024x2048xf32>) -> tensor<4096x2048xf32>
  return %5, %6 : tensor<1024x4096xf32>, tensor<4096x2048xf32>
}

// Rows that are only reduced are not stored either, where they are many and their product's right operand is small.
// CHECK-LABEL: @nearest
// CHECK: schedule = ["attention results=0 chunk=64
// CHECK: stablehlo.dot_general
// CHECK: schedule = ["loop results=0 {{.*}} reduce=
func.func @nearest(%x: tensor<8192x16xf32>, %c: tensor<64x16xf32>) -> tensor<8192xf32> {
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.dot_general %x, %c, contracting_dims = [1] x [1] : (tensor<8192x16xf32>, tensor<64x16xf32>) -> tensor<8192x64xf32>
  %1 = stablehlo.reduce(%0 init: %high) applies stablehlo.minimum across dimensions = [1] : (tensor<8192x64xf32>, tensor<f32>) -> tensor<8192xf32>
  return %1 : tensor<8192xf32>
}

// CHECK-LABEL: @large_operand
// CHECK-NOT: "attention
// LOG-DAG: rows of products{{.*}} are stored: the product's right operand is too large
func.func @large_operand(%x: tensor<1024x512xf32>, %c: tensor<4096x512xf32>) -> tensor<1024xf32> {
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %0 = stablehlo.dot_general %x, %c, contracting_dims = [1] x [1] : (tensor<1024x512xf32>, tensor<4096x512xf32>) -> tensor<1024x4096xf32>
  %1 = stablehlo.reduce(%0 init: %high) applies stablehlo.minimum across dimensions = [1] : (tensor<1024x4096xf32>, tensor<f32>) -> tensor<1024xf32>
  return %1 : tensor<1024xf32>
}
