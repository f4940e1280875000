// RUN: isthmus-opt %s -split-dilated-convolutions -split-input-file | FileCheck %s

// The even results meet the window's middle, the odd ones its ends.
// CHECK-LABEL: @phases
// CHECK: %[[MIDDLE:.*]] = stablehlo.slice %arg1 [1:2, 0:256, 0:256]
// CHECK: %[[EVEN:.*]] = stablehlo.convolution(%arg0, %[[MIDDLE]]) {{.*}} window = {pad = {{\[\[}}0, 0]], lhs_dilate = [1]} {{.*}} -> tensor<1x64x256xf32>
// CHECK: %[[ENDS:.*]] = stablehlo.slice %arg1 [0:3:2, 0:256, 0:256]
// CHECK: %[[ODD:.*]] = stablehlo.convolution(%arg0, %[[ENDS]]) {{.*}} window = {pad = {{\[\[}}0, 1]], lhs_dilate = [1]} {{.*}} -> tensor<1x64x256xf32>
// CHECK: stablehlo.concatenate {{.*}}, dim = 2 : (tensor<1x64x1x256xf32>, tensor<1x64x1x256xf32>) -> tensor<1x64x2x256xf32>
func.func @phases(%x: tensor<1x64x256xf32>, %w: tensor<3x256x256xf32>) -> tensor<1x128x256xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x256xf32>, tensor<3x256x256xf32>) -> tensor<1x128x256xf32>
  return %0 : tensor<1x128x256xf32>
}

// -----

// A window of one place, as of a gradient with strides: what it does not meet is zero. One result
// more than phases have in all.
// CHECK-LABEL: @zeros
// CHECK: stablehlo.convolution({{.*}} window = {pad = {{\[\[}}0, 0]], lhs_dilate = [1]} {{.*}} -> tensor<8x64x256xf32>
// CHECK: stablehlo.constant dense<0.000000e+00> : tensor<8x64x1x256xf32>
// CHECK-NOT: stablehlo.convolution
// CHECK: stablehlo.slice {{.*}} [0:8, 0:127, 0:256]
func.func @zeros(%x: tensor<8x64x256xf32>, %w: tensor<1x256x256xf32>) -> tensor<8x127x256xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x64x256xf32>, tensor<1x256x256xf32>) -> tensor<8x127x256xf32>
  return %0 : tensor<8x127x256xf32>
}

// -----

// The second and the fourth place of a window that is read backwards are its third and its first.
// CHECK-LABEL: @reversed
// CHECK: stablehlo.slice %arg1 [0:3:2, 0:256, 0:256]
// CHECK: stablehlo.convolution{{.*}}pad = {{\[\[}}0, 1]], {{.*}}reverse = [true]
// CHECK: stablehlo.slice %arg1 [1:4:2, 0:256, 0:256]
// CHECK: stablehlo.convolution{{.*}}pad = {{\[\[}}0, 1]], {{.*}}reverse = [true]
func.func @reversed(%x: tensor<1x64x256xf32>, %w: tensor<4x256x256xf32>) -> tensor<1x127x256xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 2]], lhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x256xf32>, tensor<4x256x256xf32>) -> tensor<1x127x256xf32>
  return %0 : tensor<1x127x256xf32>
}

// -----

// Little work, and strides of the window.
// CHECK-LABEL: @stays
// CHECK: stablehlo.convolution(%arg0, %arg1){{.*}} lhs_dilate = [2]
// CHECK: stablehlo.convolution(%arg2, %arg3){{.*}} lhs_dilate = [2]
// CHECK-NOT: stablehlo.slice
func.func @stays(%x: tensor<1x8x16xf32>, %w: tensor<3x16x16xf32>, %y: tensor<1x64x256xf32>, %v: tensor<3x256x256xf32>) -> (tensor<1x16x16xf32>, tensor<1x43x256xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x16xf32>, tensor<3x16x16xf32>) -> tensor<1x16x16xf32>
  %1 = stablehlo.convolution(%y, %v) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [3], pad = [[1, 2]], lhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x64x256xf32>, tensor<3x256x256xf32>) -> tensor<1x43x256xf32>
  return %0, %1 : tensor<1x16x16xf32>, tensor<1x43x256xf32>
}
