// Elementwise work on a product's elements becomes the epilogue of its kernel; the default target has
// vectors of 128 bits.
// RUN: isthmus-opt %s -fuse -fuse-epilogues -schedule | FileCheck %s
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -fuse -fuse-epilogues 2>&1 | FileCheck %s --check-prefix=LOG

// The sums lie in the result until the epilogue has read them.
// CHECK-LABEL: @bias_tanh
// CHECK: isthmus.fusion
// CHECK-SAME: schedule = ["dot results=0 of=0 sums=0 lanes=4 ns={{[^"]*}}"]
// CHECK-NOT: isthmus.fusion
func.func @bias_tanh(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>, %b: tensor<48xf32>) -> tensor<64x48xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<48xf32>) -> tensor<64x48xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x48xf32>
  %3 = stablehlo.tanh %2 : tensor<64x48xf32>
  return %3 : tensor<64x48xf32>
}

// What others use as well becomes a result, and has the room; sums of bf16 are of twice its width.
// CHECK-LABEL: @kept
// CHECK: schedule = ["dot results=0,1 of=0 lanes=4 ns={{[^"]*}}"]
// CHECK: stablehlo.dot_general
func.func @kept(%x: tensor<64x32xbf16>, %w: tensor<32x48xbf16>, %v: tensor<48x16xbf16>) -> (tensor<64x48xbf16>, tensor<64x16xbf16>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x48xbf16>) -> tensor<64x48xbf16>
  %1 = stablehlo.tanh %0 : tensor<64x48xbf16>
  %2 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<64x48xbf16>, tensor<48x16xbf16>) -> tensor<64x16xbf16>
  return %1, %2 : tensor<64x48xbf16>, tensor<64x16xbf16>
}

// Rows that become several dimensions are still rows.
// CHECK-LABEL: @reshaped
// CHECK: schedule = ["dot results=0 of={{[0-9]}} sums=0 lanes=4
func.func @reshaped(%x: tensor<64x32xf32>, %w: tensor<32x48xf32>, %r: tensor<8x8x48xf32>) -> tensor<8x8x48xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x48xf32>) -> tensor<64x48xf32>
  %1 = stablehlo.reshape %0 : (tensor<64x48xf32>) -> tensor<8x8x48xf32>
  %2 = stablehlo.add %1, %r : tensor<8x8x48xf32>
  return %2 : tensor<8x8x48xf32>
}

// LOG-DAG: dot_general at product has no epilogue fusion at {{.*}}: it is read at other places than it is computed
func.func @transposed(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32> loc("product")
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// LOG-DAG: dot_general at sums has no epilogue fusion at {{.*}}: a reduction, a window or a scatter is not an epilogue
func.func @reduced(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32> loc("sums")
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// LOG-DAG: dot_general at narrow has no epilogue fusion at {{.*}}: its rows are shorter than a vector
func.func @narrow(%x: tensor<64x32xf32>, %w: tensor<32x3xf32>) -> tensor<64x3xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x3xf32>) -> tensor<64x3xf32> loc("narrow")
  %1 = stablehlo.tanh %0 : tensor<64x3xf32>
  return %1 : tensor<64x3xf32>
}

// LOG-DAG: dot_general at outer has no epilogue fusion at {{.*}}: the product alone would not use the threads
func.func @outer(%x: tensor<1024x1xf32>, %w: tensor<1x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<1024x1xf32>, tensor<1x1024xf32>) -> tensor<1024x1024xf32> loc("outer")
  %1 = stablehlo.tanh %0 : tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}

// A later use of the product may be what an earlier one needs.
// LOG-DAG: dot_general at first has no epilogue
func.func @later(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32> loc("first")
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.add %0, %2 : tensor<64x64xf32>
  return %3, %1 : tensor<64x64xf32>, tensor<64xf32>
}
