// RUN: isthmus-opt %s -multiply-convolutions -split-input-file | FileCheck %s

// A layer that mixes features.
// CHECK-LABEL: @pixels
// CHECK: %[[W:.*]] = stablehlo.reshape %arg1 : (tensor<1x1x64x256xf32>) -> tensor<64x256xf32>
// CHECK: %[[P:.*]] = stablehlo.dot_general %arg0, %[[W]], contracting_dims = [3] x [0], precision = [HIGHEST, HIGHEST] : (tensor<8x56x56x64xf32>, tensor<64x256xf32>) -> tensor<8x56x56x256xf32>
// CHECK: return %[[P]]
func.func @pixels(%x: tensor<8x56x56x64xf32>, %w: tensor<1x1x64x256xf32>) -> tensor<8x56x56x256xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<8x56x56x64xf32>, tensor<1x1x64x256xf32>) -> tensor<8x56x56x256xf32>
  return %0 : tensor<8x56x56x256xf32>
}

// -----

// Its gradient by the input, whose kernel has its features in the other order.
// CHECK-LABEL: @input_gradient
// CHECK: stablehlo.dot_general %arg0, %{{.*}}, contracting_dims = [3] x [1] : (tensor<8x56x56x256xf32>, tensor<64x256xf32>) -> tensor<8x56x56x64xf32>
func.func @input_gradient(%x: tensor<8x56x56x256xf32>, %w: tensor<1x1x64x256xf32>) -> tensor<8x56x56x64xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x256xf32>, tensor<1x1x64x256xf32>) -> tensor<8x56x56x64xf32>
  return %0 : tensor<8x56x56x64xf32>
}

// -----

// By the kernel: the images are summed over.
// CHECK-LABEL: @kernel_gradient
// CHECK: %[[P:.*]] = stablehlo.dot_general %arg0, %arg1, contracting_dims = [0, 1, 2] x [0, 1, 2] : (tensor<8x56x56x64xf32>, tensor<8x56x56x256xf32>) -> tensor<64x256xf32>
// CHECK: stablehlo.reshape %[[P]] : (tensor<64x256xf32>) -> tensor<1x1x64x256xf32>
func.func @kernel_gradient(%x: tensor<8x56x56x64xf32>, %w: tensor<8x56x56x256xf32>) -> tensor<1x1x64x256xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<8x56x56x256xf32>) -> tensor<1x1x64x256xf32>
  return %0 : tensor<1x1x64x256xf32>
}

// -----

// Steps, padding and windows of several elements are no product's.
// CHECK-LABEL: @windows
// CHECK-NOT: dot_general
func.func @windows(%x: tensor<2x9x9x4xf32>, %w: tensor<1x1x4x8xf32>, %v: tensor<3x3x4x8xf32>) -> (tensor<2x5x5x8xf32>, tensor<2x11x11x8xf32>, tensor<2x7x7x8xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<1x1x4x8xf32>) -> tensor<2x5x5x8xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<1x1x4x8xf32>) -> tensor<2x11x11x8xf32>
  %2 = stablehlo.convolution(%x, %v) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x9x9x4xf32>, tensor<3x3x4x8xf32>) -> tensor<2x7x7x8xf32>
  return %0, %1, %2 : tensor<2x5x5x8xf32>, tensor<2x11x11x8xf32>, tensor<2x7x7x8xf32>
}
