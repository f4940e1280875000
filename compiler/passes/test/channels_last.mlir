// RUN: isthmus-opt %s -channels-last | FileCheck %s

// What lies between two convolutions is computed in their order, sums too; the arguments and the
// result keep theirs.
// CHECK-LABEL: @between
// CHECK-SAME: %[[X:.*]]: tensor<8x16x32x32xf32>, %[[K:.*]]: tensor<16x16x3x3xf32>, %[[S:.*]]: tensor<16xf32>
// CHECK-DAG: %[[X1:.*]] = stablehlo.transpose %[[X]], dims = [0, 2, 3, 1]
// CHECK-DAG: %[[K1:.*]] = stablehlo.transpose %[[K]], dims = [2, 3, 1, 0]
// CHECK-DAG: %[[C0:.*]] = stablehlo.convolution(%[[X1]], %[[K1]]) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]{{.*}} -> tensor<8x32x32x16xf32>
// CHECK-DAG: %[[S1:.*]] = stablehlo.broadcast_in_dim %[[S]], dims = [3] : (tensor<16xf32>) -> tensor<8x32x32x16xf32>
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<8x32x32x16xf32>
// CHECK: %[[M:.*]] = stablehlo.multiply %[[C0]], %[[S1]] : tensor<8x32x32x16xf32>
// CHECK: %[[R:.*]] = stablehlo.maximum %[[M]], %[[ZERO]] : tensor<8x32x32x16xf32>
// CHECK: stablehlo.reduce(%[[R]] init: %{{.*}}) applies stablehlo.add across dimensions = [0, 1, 2]
// CHECK: %[[C1:.*]] = stablehlo.convolution(%[[R]], %[[K1]])
// CHECK: %[[Y:.*]] = stablehlo.transpose %[[C1]], dims = [0, 3, 1, 2]
// CHECK-NOT: stablehlo.transpose
// CHECK: return %{{.*}}, %[[Y]]
func.func @between(%x: tensor<8x16x32x32xf32>, %k: tensor<16x16x3x3xf32>, %s: tensor<16xf32>) -> (tensor<16xf32>, tensor<8x16x32x32xf32>) {
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<8x16x32x32xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x32x32xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<16xf32>) -> tensor<8x16x32x32xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<8x16x32x32xf32>
  %3 = stablehlo.maximum %2, %zero : tensor<8x16x32x32xf32>
  %4 = stablehlo.reduce(%3 init: %init) applies stablehlo.add across dimensions = [0, 2, 3] : (tensor<8x16x32x32xf32>, tensor<f32>) -> tensor<16xf32>
  %5 = stablehlo.convolution(%3, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x32x32xf32>
  return %4, %5 : tensor<16xf32>, tensor<8x16x32x32xf32>
}

// Windows between convolutions follow with what is said of each dimension.
// CHECK-LABEL: @pooled
// CHECK: %[[C0:.*]] = stablehlo.convolution
// CHECK: %[[P:.*]] = "stablehlo.reduce_window"(%[[C0]], %{{.*}}) <{padding = dense<{{\[\[0, 0\], \[1, 0\], \[1, 0\], \[0, 0\]\]}}> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>}>
// CHECK: (tensor<8x32x32x16xf32>, tensor<f32>) -> tensor<8x16x16x16xf32>
// CHECK: stablehlo.convolution(%[[P]],
func.func @pooled(%x: tensor<8x16x32x32xf32>, %k: tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x32x32xf32>
  %1 = "stablehlo.reduce_window"(%0, %least) <{padding = dense<[[0, 0], [0, 0], [1, 0], [1, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 1, 3, 3>, window_strides = array<i64: 1, 1, 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8x16x32x32xf32>, tensor<f32>) -> tensor<8x16x16x16xf32>
  %2 = stablehlo.convolution(%1, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x16x16xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  return %2 : tensor<8x16x16x16xf32>
}

// A gradient with respect to the kernel sums over the batch: its images have their channels last,
// its result the features.
// CHECK-LABEL: @kernel_gradient
// CHECK-DAG: %[[X:.*]] = stablehlo.transpose %arg0, dims = [0, 2, 3, 1]
// CHECK-DAG: %[[G:.*]] = stablehlo.transpose %arg1, dims = [0, 2, 3, 1]
// CHECK: %[[K:.*]] = stablehlo.convolution(%[[X]], %[[G]]) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]
// CHECK: stablehlo.transpose %[[K]], dims = [3, 2, 0, 1]
func.func @kernel_gradient(%x: tensor<8x16x32x32xf32>, %g: tensor<8x24x32x32xf32>) -> tensor<24x16x3x3xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x16x32x32xf32>, tensor<8x24x32x32xf32>) -> tensor<24x16x3x3xf32>
  return %0 : tensor<24x16x3x3xf32>
}

// What has its features last already stays, and so does what is small.
// CHECK-LABEL: @as_it_is
// CHECK-NOT: stablehlo.transpose
// CHECK: return
func.func @as_it_is(%x: tensor<8x32x32x16xf32>, %k: tensor<3x3x16x16xf32>, %y: tensor<1x2x8x8xf32>, %l: tensor<2x2x3x3xf32>) -> (tensor<8x32x32x16xf32>, tensor<1x2x8x8xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x32x32x16xf32>, tensor<3x3x16x16xf32>) -> tensor<8x32x32x16xf32>
  %1 = stablehlo.convolution(%y, %l) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x8x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x8x8xf32>
  return %0, %1 : tensor<8x32x32x16xf32>, tensor<1x2x8x8xf32>
}

// CHECK-LABEL: @of_one_channel
// CHECK-NOT: stablehlo.transpose
// CHECK: %[[X:.*]] = stablehlo.reshape %{{.*}} : (tensor<8x1x32x32xf32>) -> tensor<8x32x32x1xf32>
// CHECK: stablehlo.convolution(%[[X]], %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK: stablehlo.reshape %{{.*}} : (tensor<8x32x32x1xf32>) -> tensor<8x1x32x32xf32>
func.func @of_one_channel(%x: tensor<8x1x32x32xf32>, %k: tensor<1x1x5x5xf32>) -> tensor<8x1x32x32xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[2, 2], [2, 2]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x1x32x32xf32>, tensor<1x1x5x5xf32>) -> tensor<8x1x32x32xf32>
  return %0 : tensor<8x1x32x32xf32>
}
