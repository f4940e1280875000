// Reductions of what was only moved, repeated or joined.
// RUN: isthmus-opt %s -split-input-file -simplify | FileCheck %s

// CHECK-LABEL: @main
// CHECK-NOT: stablehlo.reverse
// CHECK-NOT: stablehlo.transpose
// CHECK-NOT: stablehlo.concatenate
// CHECK: %[[ROWS:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: %[[TWICE:.*]] = stablehlo.multiply %[[ROWS]], %{{.*}} : tensor<100xf32>
// CHECK: %[[MAX:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [0]
// CHECK: %[[PAIRS:.*]] = stablehlo.broadcast_in_dim %[[MAX]], dims = [0] : (tensor<70xf32>) -> tensor<70x2xf32>
// CHECK: stablehlo.reshape %[[PAIRS]]
// CHECK: %[[AGAIN:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.broadcast_in_dim %[[AGAIN]], dims = [0] : (tensor<100xf32>) -> tensor<100x2xf32>
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// 300 times is too often for a byte.
// CHECK: %[[BYTES:.*]] = stablehlo.broadcast_in_dim %arg1
// CHECK: stablehlo.reduce(%[[BYTES]]
// CHECK: %[[FIRST:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [0]
// CHECK: %[[SECOND:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [0]
// CHECK: stablehlo.maximum %[[FIRST]], %[[SECOND]]
func.func @main(%x: tensor<100x70xf32>, %i: tensor<5xi8>) -> (tensor<100xf32>, tensor<140xf32>, tensor<200xf32>, tensor<70xf32>, tensor<f32>, tensor<5xi8>, tensor<70xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %zi = stablehlo.constant dense<0> : tensor<i8>
  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<100x70xf32>) -> tensor<100x70x2xf32>
  %r = stablehlo.reshape %b : (tensor<100x70x2xf32>) -> tensor<100x140xf32>
  %0 = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : (tensor<100x140xf32>, tensor<f32>) -> tensor<100xf32>
  %b1 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<100x70xf32>) -> tensor<100x70x2xf32>
  %r1 = stablehlo.reshape %b1 : (tensor<100x70x2xf32>) -> tensor<100x140xf32>
  %1 = stablehlo.reduce(%r1 init: %lo) applies stablehlo.maximum across dimensions = [0] : (tensor<100x140xf32>, tensor<f32>) -> tensor<140xf32>
  %b2 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<100x70xf32>) -> tensor<100x2x70xf32>
  %r2 = stablehlo.reshape %b2 : (tensor<100x2x70xf32>) -> tensor<200x70xf32>
  %2 = stablehlo.reduce(%r2 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<200x70xf32>, tensor<f32>) -> tensor<200xf32>
  %v = stablehlo.reverse %x, dims = [0] : tensor<100x70xf32>
  %3 = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [0] : (tensor<100x70xf32>, tensor<f32>) -> tensor<70xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<100x70xf32>) -> tensor<70x100xf32>
  %rt = stablehlo.reshape %t : (tensor<70x100xf32>) -> tensor<50x140xf32>
  %4 = stablehlo.reduce(%rt init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<50x140xf32>, tensor<f32>) -> tensor<f32>
  %bi = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<5xi8>) -> tensor<300x5xi8>
  %5 = stablehlo.reduce(%bi init: %zi) applies stablehlo.add across dimensions = [0] : (tensor<300x5xi8>, tensor<i8>) -> tensor<5xi8>
  %c = stablehlo.concatenate %x, %v, dim = 0 : (tensor<100x70xf32>, tensor<100x70xf32>) -> tensor<200x70xf32>
  %6 = stablehlo.reduce(%c init: %lo) applies stablehlo.maximum across dimensions = [0] : (tensor<200x70xf32>, tensor<f32>) -> tensor<70xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<100xf32>, tensor<140xf32>, tensor<200xf32>, tensor<70xf32>, tensor<f32>, tensor<5xi8>, tensor<70xf32>
}

// -----

// What is needed itself is read; a sum from 1 on is no sum of sums; narrow floats would round twice.
// CHECK-LABEL: @kept
// CHECK: %[[REVERSED:.*]] = stablehlo.reverse %arg0
// CHECK: stablehlo.reduce(%[[REVERSED]]
// CHECK: %[[JOINED:.*]] = stablehlo.concatenate
// CHECK: stablehlo.reduce(%[[JOINED]]
// CHECK: %[[NARROW:.*]] = stablehlo.broadcast_in_dim %arg1
// CHECK: stablehlo.reduce(%[[NARROW]]
func.func @kept(%x: tensor<100x70xf32>, %n: tensor<5xbf16>) -> (tensor<70xf32>, tensor<100x70xf32>, tensor<70xf32>, tensor<5xbf16>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %zn = stablehlo.constant dense<0.0> : tensor<bf16>
  %v = stablehlo.reverse %x, dims = [0] : tensor<100x70xf32>
  %0 = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [0] : (tensor<100x70xf32>, tensor<f32>) -> tensor<70xf32>
  %c = stablehlo.concatenate %x, %x, dim = 0 : (tensor<100x70xf32>, tensor<100x70xf32>) -> tensor<200x70xf32>
  %1 = stablehlo.reduce(%c init: %one) applies stablehlo.add across dimensions = [0] : (tensor<200x70xf32>, tensor<f32>) -> tensor<70xf32>
  %b = stablehlo.broadcast_in_dim %n, dims = [1] : (tensor<5xbf16>) -> tensor<300x5xbf16>
  %2 = stablehlo.reduce(%b init: %zn) applies stablehlo.add across dimensions = [0] : (tensor<300x5xbf16>, tensor<bf16>) -> tensor<5xbf16>
  return %0, %v, %1, %2 : tensor<70xf32>, tensor<100x70xf32>, tensor<70xf32>, tensor<5xbf16>
}

// -----

// Columns of arrays side by side are added up for each array; few elements are not worth it.
// CHECK-LABEL: @columns
// CHECK: %[[LEFT:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: %[[RIGHT:.*]] = stablehlo.reduce(%arg1 init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.concatenate %[[LEFT]], %[[RIGHT]], dim = 0 : (tensor<100xf32>, tensor<28xf32>) -> tensor<128xf32>
// CHECK: %[[SMALL:.*]] = stablehlo.concatenate %arg2, %arg2, dim = 1
// CHECK: stablehlo.reduce(%[[SMALL]]
func.func @columns(%x: tensor<500x100xf32>, %y: tensor<500x28xf32>, %s: tensor<5x28xf32>) -> (tensor<128xf32>, tensor<56xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.concatenate %x, %y, dim = 1 : (tensor<500x100xf32>, tensor<500x28xf32>) -> tensor<500x128xf32>
  %0 = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<500x128xf32>, tensor<f32>) -> tensor<128xf32>
  %d = stablehlo.concatenate %s, %s, dim = 1 : (tensor<5x28xf32>, tensor<5x28xf32>) -> tensor<5x56xf32>
  %1 = stablehlo.reduce(%d init: %z) applies stablehlo.add across dimensions = [0] : (tensor<5x56xf32>, tensor<f32>) -> tensor<56xf32>
  return %0, %1 : tensor<128xf32>, tensor<56xf32>
}

// -----

// Padding by 0 adds nothing; a maximum takes it in once, and has it around what is kept. A sum may
// not begin with -0, and other padding is added up as it stands.
// CHECK-LABEL: @padded
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1]
// CHECK: %[[COLUMNS:.*]] = stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.maximum across dimensions = [0]
// CHECK: %[[TAKEN:.*]] = stablehlo.maximum %[[COLUMNS]], %{{.*}} : tensor<70xf32>
// CHECK: %[[AROUND:.*]] = stablehlo.maximum %arg1, %arg2 : tensor<f32>
// CHECK: stablehlo.pad %[[TAKEN]], %[[AROUND]], low = [3], high = [1], interior = [1] : (tensor<70xf32>, tensor<f32>) -> tensor<143xf32>
// CHECK: %[[FROM_MINUS_ZERO:.*]] = stablehlo.pad
// CHECK: stablehlo.reduce(%[[FROM_MINUS_ZERO]]
// CHECK: %[[ANY:.*]] = stablehlo.pad
// CHECK: stablehlo.reduce(%[[ANY]]
func.func @padded(%x: tensor<100x70xf32>, %v: tensor<f32>, %i: tensor<f32>) -> (tensor<f32>, tensor<143xf32>, tensor<102xf32>, tensor<102xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %minus = stablehlo.constant dense<-0.0> : tensor<f32>
  %p = stablehlo.pad %x, %z, low = [1, 3], high = [1, 1], interior = [0, 1] : (tensor<100x70xf32>, tensor<f32>) -> tensor<102x143xf32>
  %0 = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<102x143xf32>, tensor<f32>) -> tensor<f32>
  %q = stablehlo.pad %x, %v, low = [1, 3], high = [1, 1], interior = [0, 1] : (tensor<100x70xf32>, tensor<f32>) -> tensor<102x143xf32>
  %1 = stablehlo.reduce(%q init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<102x143xf32>, tensor<f32>) -> tensor<143xf32>
  %r = stablehlo.pad %x, %z, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<100x70xf32>, tensor<f32>) -> tensor<102x72xf32>
  %2 = stablehlo.reduce(%r init: %minus) applies stablehlo.add across dimensions = [1] : (tensor<102x72xf32>, tensor<f32>) -> tensor<102xf32>
  %s = stablehlo.pad %x, %v, low = [1, 2], high = [1, 2], interior = [0, 0] : (tensor<100x70xf32>, tensor<f32>) -> tensor<102x74xf32>
  %3 = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] : (tensor<102x74xf32>, tensor<f32>) -> tensor<102xf32>
  return %0, %1, %2, %3 : tensor<f32>, tensor<143xf32>, tensor<102xf32>, tensor<102xf32>
}
