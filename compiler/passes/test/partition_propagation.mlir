// What is wished for by users reaches what they use, through loops too.
// RUN: isthmus-opt %s -partition=num-partitions=4 -split-input-file | FileCheck %s

// What is wished for at the end is cut where it begins: the loop carries blocks, and nobody talks.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[A:.*]]: tensor<2xui32>
// CHECK-NOT: tensor<8xui32>
// CHECK-NOT: all_gather
// CHECK: %[[SELF:.*]] = stablehlo.partition_id
// CHECK: stablehlo.iota dim = 0 : tensor<2xui32>
// CHECK: stablehlo.while
// CHECK-SAME: tensor<2xui32>
// CHECK: stablehlo.add {{.*}} : tensor<2xui32>
// CHECK: return {{.*}} : tensor<2xui32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xui32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xui32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %key = stablehlo.constant dense<7> : tensor<ui32>
  %0 = stablehlo.iota dim = 0 : tensor<8xui32>
  %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<8xui32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %k = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<ui32>) -> tensor<8xui32>
    %y = stablehlo.multiply %x, %k : tensor<8xui32>
    stablehlo.return %next, %y : tensor<i32>, tensor<8xui32>
  }
  %2 = stablehlo.add %1#1, %a : tensor<8xui32>
  return %2 : tensor<8xui32>
}

// -----

// A scan over rows: what is read and what is written row by row stays split along the other dimension.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.while
// CHECK-SAME: tensor<5x2xf32>, tensor<5x2xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<5x2xf32>, tensor<1x2xf32>
// CHECK-NOT: all_gather
// CHECK: return {{.*}} : tensor<5x2xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<5x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<5x8xf32>
  %1:3 = stablehlo.while(%i = %zero, %in = %a, %out = %nothing) : tensor<i32>, tensor<5x8xf32>, tensor<5x8xf32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %o = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %row = stablehlo.dynamic_slice %in, %i, %o, sizes = [1, 8] : (tensor<5x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %y = stablehlo.sine %row : tensor<1x8xf32>
    %written = stablehlo.dynamic_update_slice %out, %y, %i, %o
      : (tensor<5x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<5x8xf32>
    stablehlo.return %next, %in, %written : tensor<i32>, tensor<5x8xf32>, tensor<5x8xf32>
  }
  return %1#2 : tensor<5x8xf32>
}

// -----

// Reversed blocks change places.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<2x6xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.reverse {{.*}} : tensor<2x6xf32>
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}0, 3], [1, 2], [2, 1], [3, 0]]>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x6xf32> {
  %0 = stablehlo.reverse %a, dims = [0, 1] : tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// A call that says what is its batch gets blocks of it, and whole matrices: what cut those cuts the
// batch once more.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = "stablehlo.all_to_all"{{.*}}concat_dimension = 1 {{.*}}split_dimension = 0
// CHECK-NOT: all_gather
// CHECK: stablehlo.custom_call @factorize(%[[ROWS]]) {{.*}} : (tensor<1x6x6xf32>) -> (tensor<1x6x6xf32>, tensor<1x6xf32>)
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}]>}) -> (tensor<4x6x6xf32>, tensor<4x6xf32>) {
  %0:2 = stablehlo.custom_call @factorize(%a) {mhlo.frontend_attributes = {num_batch_dims = "1"}}
    : (tensor<4x6x6xf32>) -> (tensor<4x6x6xf32>, tensor<4x6xf32>)
  return %0#0, %0#1 : tensor<4x6x6xf32>, tensor<4x6xf32>
}

// -----

// Both indices are made local, and what neither device has is zero in the sum.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.gather"(%arg0, {{.*}} : (tensor<2x4xf32>, tensor<3x2xi64>) -> tensor<3xf32>
// CHECK: stablehlo.select
// CHECK: stablehlo.select
// CHECK: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
                %i: tensor<3x2xi64>) -> tensor<3xf32> {
  %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1],
    start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>}>
    : (tensor<4x8xf32>, tensor<3x2xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
