// Rows that are picked from a table in blocks: what moves less, the table or the rows.
// RUN: isthmus-opt %s --split-input-file --partition=num-partitions=2 | FileCheck %s

// The indices are split as the table is, and there are fewer of them.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"{{.*}} -> tensor<8xi32>
// CHECK: "stablehlo.gather"{{.*}} : (tensor<32x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
// CHECK: "stablehlo.reduce_scatter"
// CHECK-NOT: all_gather
sdy.mesh @mesh = <["x"=2]>
func.func @main(%table: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %rows: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%table, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// There are more of them.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"{{.*}} -> tensor<64x4xf32>
// CHECK: "stablehlo.gather"{{.*}} : (tensor<64x4xf32>, tensor<64xi32>) -> tensor<64x4xf32>
// CHECK-NOT: reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%table: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %rows: tensor<128xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<128x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.gather"(%table, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<128xi32>) -> tensor<128x4xf32>
  return %0 : tensor<128x4xf32>
}

// -----

// Three rounds take few rows of the table, which stays in blocks.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.while
// CHECK: "stablehlo.gather"{{.*}} : (tensor<32x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
// CHECK: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%table: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %rows: tensor<4xi32>, %sum: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<3> : tensor<i32>
  %0:3 = stablehlo.while(%t = %table, %i = %zero, %s = %sum) : tensor<64x4xf32>, tensor<i32>, tensor<4x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.add %rows, %1 : tensor<4xi32>
    %3 = "stablehlo.gather"(%t, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
    %4 = stablehlo.tanh %s : tensor<4x4xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<4x4xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %t, %6, %5 : tensor<64x4xf32>, tensor<i32>, tensor<4x4xf32>
  }
  return %0#2 : tensor<4x4xf32>
}

// -----

// Nobody knows how many rounds there are: gathered once.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"{{.*}} -> tensor<64x4xf32>
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%table: tensor<64x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %rows: tensor<4xi32>, %sum: tensor<4x4xf32>, %limit: tensor<i32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:3 = stablehlo.while(%t = %table, %i = %zero, %s = %sum) : tensor<64x4xf32>, tensor<i32>, tensor<4x4xf32>
  cond {
    %1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.broadcast_in_dim %i, dims = [] : (tensor<i32>) -> tensor<4xi32>
    %2 = stablehlo.add %rows, %1 : tensor<4xi32>
    %3 = "stablehlo.gather"(%t, %2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<64x4xf32>, tensor<4xi32>) -> tensor<4x4xf32>
    %4 = stablehlo.tanh %s : tensor<4x4xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<4x4xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %t, %6, %5 : tensor<64x4xf32>, tensor<i32>, tensor<4x4xf32>
  }
  return %0#2 : tensor<4x4xf32>
}

// -----

// Each device adds its blocks of updates, zeros in place of the padding behind the fifth.
// CHECK-LABEL: func.func @main
// CHECK: %[[UPDATES:.*]] = stablehlo.select {{.*}} tensor<3x4xf32>
// CHECK: "stablehlo.scatter"(%{{.*}}, %{{.*}}, %[[UPDATES]]) {{.*}}
// CHECK: (tensor<64x4xf32>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<64x4xf32>
// CHECK: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%table: tensor<64x4xf32>, %rows: tensor<5x1xi32>, %values: tensor<5x4xf32>) -> tensor<64x4xf32> {
  %0 = sdy.sharding_constraint %rows <@mesh, [{"x"}, {}]> : tensor<5x1xi32>
  %1 = sdy.sharding_constraint %values <@mesh, [{"x"}, {}]> : tensor<5x4xf32>
  %2 = "stablehlo.scatter"(%table, %0, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<64x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<64x4xf32>
  return %2 : tensor<64x4xf32>
}
