// Operations that look at neighbours: devices exchange the rows around their blocks.
// RUN: isthmus-opt %s -partition=num-partitions=4 -split-input-file | FileCheck %s

// A convolution that keeps its size gets a row from either side; what is beyond the ends is zero.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 1], [1, 2], [2, 3]]>
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}1, 0], [2, 1], [3, 2]]>
// CHECK: %[[WIDE:.*]] = stablehlo.concatenate {{.*}} -> tensor<1x4x3xf32>
// CHECK: stablehlo.convolution(%[[WIDE]], {{.*}}pad = {{\[\[}}0, 0]]{{.*}} -> tensor<1x2x5xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<1x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x3x5xf32>) -> tensor<1x8x5xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x3xf32>, tensor<3x3x5xf32>) -> tensor<1x8x5xf32>
  return %0 : tensor<1x8x5xf32>
}

// -----

// The gradient of its kernel: each device has a part of the sum.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK-COUNT-2: "stablehlo.collective_permute"
// CHECK: stablehlo.convolution({{.*}} -> tensor<3x3x5xf32>
// CHECK: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<3x8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %g: tensor<8x1x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<3x3x5xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [b, 0, f]x[0, i, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x8x1xf32>, tensor<8x1x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}

// -----

// Padding of a window is its initial value, which the ends must be given.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"
// CHECK: stablehlo.select
// CHECK: "stablehlo.reduce_window"
// CHECK: (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %least = stablehlo.constant dense<-1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %least) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Arrays one after the other: their rows go where they belong.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK-COUNT-4: "stablehlo.collective_permute"
// CHECK-NOT: collective_permute
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// Two results cannot be split over four devices, but over half of the axis.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.reduce_window"
// CHECK: (tensor<2xf32>, tensor<f32>) -> tensor<1xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 2>} : (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// A cumulative sum from behind, of an uneven dimension: padding is zero, and devices exchange what
// their blocks come to.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.select
// CHECK: %[[BLOCK:.*]] = "stablehlo.reduce_window"{{.*}}padding = dense<{{\[\[}}0, 2], [0, 0]]>{{.*}}window_dimensions = array<i64: 3, 1>
// CHECK: stablehlo.slice %[[BLOCK]] [0:1, 0:2] : (tensor<3x2xf32>) -> tensor<1x2xf32>
// CHECK: "stablehlo.all_gather"({{.*}} : (tensor<1x2xf32>) -> tensor<4x2xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.compare GT
// CHECK: stablehlo.reduce({{.*}} : (tensor<4x2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: stablehlo.add {{.*}}, %[[BLOCK]] : tensor<3x2xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<12x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<10x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.slice %x [0:10, 0:2] : (tensor<12x2xf32>) -> tensor<10x2xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}, {}]> : tensor<10x2xf32>
  %2 = "stablehlo.reduce_window"(%1, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) {window_dimensions = array<i64: 10, 1>, padding = dense<[[0, 9], [0, 0]]> : tensor<2x2xi64>} : (tensor<10x2xf32>, tensor<f32>) -> tensor<10x2xf32>
  %4 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}]> : tensor<10x2xf32>
  return %4 : tensor<10x2xf32>
}

// -----

// The gradient of a pool of overlapping windows: each device has the windows that touch its rows, and
// keeps those rows of what they scatter.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.select_and_scatter"
// CHECK: }) : (tensor<7xf32>, tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
// CHECK: stablehlo.dynamic_slice {{.*}} -> tensor<4xf32>
// CHECK-NOT: all_gather
sdy.mesh @mesh = <["x"=4]>
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %g: tensor<7xf32>) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = sdy.sharding_constraint %g <@mesh, [{"x"}]> : tensor<7xf32>
  %0 = stablehlo.slice %x [0:15] : (tensor<16xf32>) -> tensor<15xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<15xf32>
  %2 = "stablehlo.select_and_scatter"(%1, %s, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %4 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %4 : tensor<f32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>} : (tensor<15xf32>, tensor<7xf32>, tensor<f32>) -> tensor<15xf32>
  %3 = stablehlo.pad %2, %zero, low = [0], high = [1], interior = [0] : (tensor<15xf32>, tensor<f32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}
