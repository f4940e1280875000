// Operations that stay split by their batches, groups, windows, and by dimensions that they address.
// RUN: isthmus-opt %s -partition=num-partitions=2 -split-input-file | FileCheck %s

// A batch of rows of which each takes its own elements.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.gather"{{.*}}slice_sizes = array<i64: 1, 1>{{.*}} : (tensor<4x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %i: tensor<8x3x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<8x3xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<8x8xf32>, tensor<8x3x1xi32>) -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// -----

// Rows of a table whose rows are split: each device gives those that it has.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.compare EQ
// CHECK: %[[ROWS:.*]] = "stablehlo.gather"{{.*}} : (tensor<4x6xf32>, tensor<3x1xi64>) -> tensor<3x6xf32>
// CHECK: %[[MINE:.*]] = stablehlo.select {{.*}}, %[[ROWS]],
// CHECK: "stablehlo.all_reduce"(%[[MINE]])
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %i: tensor<3x1xi32>) -> (tensor<3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}> : (tensor<8x6xf32>, tensor<3x1xi32>) -> tensor<3x6xf32>
  return %0 : tensor<3x6xf32>
}

// -----

// An element written to a split dimension: the device that has the place writes it.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.dynamic_slice
// CHECK: stablehlo.select
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<4x6xf32>, tensor<1x6xf32>, tensor<i64>, tensor<i64>) -> tensor<4x6xf32>
// CHECK-NOT: all_gather
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %u: tensor<1x6xf32>, %i: tensor<i32>) -> tensor<8x6xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %z : (tensor<8x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// The gradient of a convolution's weights sums over images.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: %[[PART:.*]] = stablehlo.convolution
// CHECK-SAME: (tensor<2x6x6x4xf32>, tensor<2x4x4x8xf32>) -> tensor<3x3x4x8xf32>
// CHECK: "stablehlo.all_reduce"(%[[PART]])
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6x6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>},
                %b: tensor<4x4x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}, {}]>})
    -> (tensor<3x3x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>}) {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x4xf32>, tensor<4x4x4x8xf32>) -> tensor<3x3x4x8xf32>
  return %0 : tensor<3x3x4x8xf32>
}

// -----

// Groups of features are split with their kernels.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.convolution
// CHECK-SAME: feature_group_count = 2 : i64
// CHECK-SAME: (tensor<2x6x6x4xf32>, tensor<3x3x2x8xf32>) -> tensor<2x4x4x8xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x6x6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"x"}]>},
                %b: tensor<3x3x2x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {"x"}]>}) -> tensor<2x4x4x16xf32> {
  %0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<2x6x6x8xf32>, tensor<3x3x2x16xf32>) -> tensor<2x4x4x16xf32>
  return %0 : tensor<2x4x4x16xf32>
}

// -----

// An index of the largest along a split dimension: of each device's, the largest again.
// CHECK-LABEL: func.func @main
// CHECK: %[[PART:.*]]:2 = stablehlo.reduce({{.*}} : (tensor<4x4xf32>, tensor<4x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
// CHECK: "stablehlo.all_gather"({{.*}}) {{.*}} : (tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK: "stablehlo.all_gather"({{.*}}) {{.*}} : (tensor<1x4xi32>) -> tensor<2x4xi32>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4xi32> {
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%a init: %low), (%i init: %zero) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%l: tensor<f32>, %r: tensor<f32>) (%li: tensor<i32>, %ri: tensor<i32>) {
      %c = stablehlo.compare GE, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %c, %l, %r : tensor<i1>, tensor<f32>
      %j = stablehlo.select %c, %li, %ri : tensor<i1>, tensor<i32>
      stablehlo.return %v, %j : tensor<f32>, tensor<i32>
    }
  return %0#1 : tensor<4xi32>
}

// -----

// Windows that follow each other stay within a block of whole ones.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.reduce_window"
// CHECK: (tensor<4xf32>, tensor<f32>) -> tensor<2xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %low) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The first rows of a sort are among the first rows of its blocks, in the order of the whole.
// CHECK-LABEL: func.func @main
// CHECK: %[[BLOCKS:.*]]:2 = "stablehlo.sort"
// CHECK: }) : (tensor<16xf32>, tensor<16xi32>)
// CHECK: %[[VALUES:.*]] = stablehlo.slice %[[BLOCKS]]#0 [0:2]
// CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%[[VALUES]]) {{.*}} -> tensor<4xf32>
// CHECK: %[[SORTED:.*]]:2 = "stablehlo.sort"(%[[ALL]],
// CHECK: %[[ONE:.*]] = stablehlo.slice %[[SORTED]]#1 [0:1] : (tensor<4xi32>) -> tensor<1xi32>
// CHECK: %[[TWO:.*]] = stablehlo.slice %[[SORTED]]#0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
// CHECK: return %[[TWO]], %[[ONE]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<2xf32>, tensor<1xi32>) {
  %0 = stablehlo.iota dim = 0 : tensor<32xi32>
  %1:2 = "stablehlo.sort"(%x, %0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %4 = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  }) : (tensor<32xf32>, tensor<32xi32>) -> (tensor<32xf32>, tensor<32xi32>)
  %2 = stablehlo.slice %1#1 [0:1] : (tensor<32xi32>) -> tensor<1xi32>
  %3 = stablehlo.slice %1#0 [0:2] : (tensor<32xf32>) -> tensor<2xf32>
  return %3, %2 : tensor<2xf32>, tensor<1xi32>
}

// -----

// The largest per place: each device takes those of its updates, and then the largest of all.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.scatter"{{.*}}
// CHECK: }) : (tensor<3xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<3xf32>
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.maximum
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<3xf32>, %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %u: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<3xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = stablehlo.maximum %l, %r : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Few updates to a split array: they are gathered, not the array summed.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"{{.*}} -> tensor<2x1xi32>
// CHECK: "stablehlo.all_gather"{{.*}} -> tensor<2x4xf32>
// CHECK: }) : (tensor<8x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
// CHECK-NOT: all_reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %i: tensor<2x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %u: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<16x4xf32> {
  %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %m = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<16x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// Several rows written to a split dimension: each device writes those that fall into its block.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "stablehlo.all_
// CHECK: stablehlo.pad %{{.*}}, low = [2, 0], high = [2, 0]
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<8x4xf32>, tensor<2x4xf32>, tensor<i64>, tensor<i64>) -> tensor<8x4xf32>
// CHECK-NOT: "stablehlo.all_
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %u: tensor<2x4xf32>, %i: tensor<i32>) -> tensor<16x4xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %a, %u, %i, %z : (tensor<16x4xf32>, tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}

// -----

// A few rows from an index on: each device gives those that it has.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: %[[OWN:.*]] = stablehlo.dynamic_slice {{.*}} : (tensor<8x4xf32>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
// CHECK: %[[WIDE:.*]] = stablehlo.pad %[[OWN]],
// CHECK: %[[MINE:.*]] = stablehlo.dynamic_slice %[[WIDE]],
// CHECK: "stablehlo.all_reduce"(%[[MINE]])
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<i32>) -> (tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %i, %z, sizes = [2, 4] : (tensor<16x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// What is repeated goes along with the larger array, however it is split.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROW:.*]] = "stablehlo.all_gather"(%arg0) {{.*}} -> tensor<8xf32>
// CHECK: stablehlo.broadcast_in_dim %[[ROW]], dims = [2] : (tensor<8xf32>) -> tensor<4x1x8xf32>
// CHECK: stablehlo.concatenate {{.*}} -> tensor<4x5x8xf32>
// CHECK-NOT: all_to_all
sdy.mesh @mesh = <["x"=2]>
func.func @main(%c: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %x: tensor<8x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<8x5x8xf32> {
  %0 = stablehlo.broadcast_in_dim %c, dims = [2] : (tensor<8xf32>) -> tensor<8x1x8xf32>
  %1 = stablehlo.concatenate %0, %x, dim = 1 : (tensor<8x1x8xf32>, tensor<8x4x8xf32>) -> tensor<8x5x8xf32>
  return %1 : tensor<8x5x8xf32>
}

// -----

// A mask that two arrays need, split otherwise, is computed twice and not sent.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "stablehlo.all_
// CHECK: stablehlo.select {{.*}} : tensor<4x8xi1>
// CHECK-NOT: "stablehlo.all_
// CHECK: stablehlo.select {{.*}} : tensor<8x4xi1>
// CHECK-NOT: "stablehlo.all_
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %1 = stablehlo.iota dim = 1 : tensor<8x8xi32>
  %2 = stablehlo.compare GE, %0, %1 : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
  %z = stablehlo.constant dense<0.0> : tensor<8x8xf32>
  %3 = stablehlo.select %2, %a, %z : tensor<8x8xi1>, tensor<8x8xf32>
  %4 = stablehlo.select %2, %b, %z : tensor<8x8xi1>, tensor<8x8xf32>
  return %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Bits become other elements on each device: rows stay where they are, and the last dimension, which
// appears or goes, is whole.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.bitcast_convert {{.*}} : (tensor<4x4xi32>) -> tensor<4x4x4xi8>
// CHECK: stablehlo.bitcast_convert {{.*}} : (tensor<4x4x4xi8>) -> tensor<4x4xi32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xi32> {
  %0 = stablehlo.bitcast_convert %a : (tensor<8x4xi32>) -> tensor<8x4x4xi8>
  %1 = stablehlo.not %0 : tensor<8x4x4xi8>
  %2 = stablehlo.bitcast_convert %1 : (tensor<8x4x4xi8>) -> tensor<8x4xi32>
  return %2 : tensor<8x4xi32>
}
