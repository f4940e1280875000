// With strides, padding, dilations, groups, and dimensions in any order.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @padded() {
  %x = stablehlo.constant dense<[[[[-2.0, -1.0, 0.0, 1.0], [2.0, 3.0, -3.0, -2.0], [-1.0, 0.0, 1.0, 2.0], [3.0, -3.0, -2.0, -1.0]], [[0.0, 1.0, 2.0, 3.0], [-3.0, -2.0, -1.0, 0.0], [1.0, 2.0, 3.0, -3.0], [-2.0, -1.0, 0.0, 1.0]]]]> : tensor<1x2x4x4xf32>
  %w = stablehlo.constant dense<[[[[-1.0, 0.0, 1.0], [2.0, -2.0, -1.0], [0.0, 1.0, 2.0]], [[-2.0, -1.0, 0.0], [1.0, 2.0, -2.0], [-1.0, 0.0, 1.0]]], [[[2.0, -2.0, -1.0], [0.0, 1.0, 2.0], [-2.0, -1.0, 0.0]], [[1.0, 2.0, -2.0], [-1.0, 0.0, 1.0], [2.0, -2.0, -1.0]]]]> : tensor<2x2x3x3xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x4xf32>
  check.expect_eq_const %r, dense<[[[[9.0, -5.0, -9.0, 5.0], [-9.0, 1.0, 8.0, -11.0], [2.0, -6.0, 8.0, -1.0], [-6.0, 8.0, -9.0, -4.0]], [[3.0, -7.0, -1.0, 5.0], [6.0, -8.0, -9.0, 13.0], [-6.0, -5.0, 15.0, -1.0], [-4.0, -9.0, 8.0, -6.0]]]]> : tensor<1x2x4x4xf32>
  func.return
}

// -----

func.func @strided_dilated_channels_last() {
  %x = stablehlo.constant dense<[[[[-2.0, 0.0], [-1.0, 1.0], [0.0, 2.0], [1.0, 3.0]], [[2.0, -3.0], [3.0, -2.0], [-3.0, -1.0], [-2.0, 0.0]], [[-1.0, 1.0], [0.0, 2.0], [1.0, 3.0], [2.0, -3.0]], [[3.0, -2.0], [-3.0, -1.0], [-2.0, 0.0], [-1.0, 1.0]]]]> : tensor<1x4x4x2xf64>
  %w = stablehlo.constant dense<[[[[-1.0, 2.0], [-2.0, 1.0]], [[0.0, -2.0], [-1.0, 2.0]]], [[[2.0, 0.0], [1.0, -1.0]], [[-2.0, 1.0], [2.0, 0.0]]]]> : tensor<2x2x2x2xf64>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[0, 1], [2, 0]], lhs_dilate = [1, 2], rhs_dilate = [2, 1]} {feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x4x4x2xf64>, tensor<2x2x2x2xf64>) -> tensor<1x2x8x2xf64>
  check.expect_eq_const %r, dense<[[[[0.0, 0.0], [4.0, 3.0], [1.0, -5.0], [3.0, 4.0], [1.0, -3.0], [2.0, 5.0], [1.0, -1.0], [-13.0, 6.0]], [[0.0, 0.0], [-1.0, 4.0], [-1.0, -1.0], [-2.0, 4.0], [-4.0, 2.0], [-3.0, 4.0], [-7.0, 5.0], [3.0, -10.0]]]]> : tensor<1x2x8x2xf64>
  func.return
}

// -----

func.func @two_groups() {
  %x = stablehlo.constant dense<[[[[-2.0, -1.0, 0.0, 1.0], [2.0, 3.0, -3.0, -2.0], [-1.0, 0.0, 1.0, 2.0], [3.0, -3.0, -2.0, -1.0]], [[0.0, 1.0, 2.0, 3.0], [-3.0, -2.0, -1.0, 0.0], [1.0, 2.0, 3.0, -3.0], [-2.0, -1.0, 0.0, 1.0]]]]> : tensor<1x2x4x4xf32>
  %w = stablehlo.constant dense<[[[[-1.0, 0.0], [2.0, -2.0]]], [[[2.0, -2.0], [0.0, 1.0]]]]> : tensor<2x1x2x2xf32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<2x1x2x2xf32>) -> tensor<1x2x3x3xf32>
  check.expect_eq_const %r, dense<[[[[0.0, 13.0, -2.0], [-4.0, -5.0, 1.0], [13.0, -2.0, -3.0]], [[-4.0, -3.0, -2.0], [0.0, 1.0, -5.0], [-3.0, -2.0, 13.0]]]]> : tensor<1x2x3x3xf32>
  func.return
}

// -----

func.func @integers_in_batch_groups() {
  %x = stablehlo.constant dense<[[[0, 1, 2, 3]], [[4, 5, 6, 7]]]> : tensor<2x1x4xi32>
  %w = stablehlo.constant dense<[[[1, 2]], [[3, -1]]]> : tensor<2x1x2xi32>
  %r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {reverse = [true]} {feature_group_count = 1 : i64, batch_group_count = 2 : i64} : (tensor<2x1x4xi32>, tensor<2x1x2xi32>) -> tensor<1x2x3xi32>
  check.expect_eq_const %r, dense<[[[1, 4, 7], [11, 13, 15]]]> : tensor<1x2x3xi32>
  func.return
}
