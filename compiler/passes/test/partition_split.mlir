// What stays split, what is gathered, and what is cut.
// RUN: isthmus-opt %s -partition=num-partitions=2 -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x6xf32>
// CHECK-SAME: -> (tensor<6x4xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.transpose {{.*}} : (tensor<4x6xf32>) -> tensor<6x4xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6x8xf32> {
  %0 = stablehlo.sine %a : tensor<8x6xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  return %1 : tensor<6x8xf32>
}

// -----

// The dimension that is summed over is gathered; the other stays split.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}}) {{.*}} : (tensor<4x6xf32>, tensor<f32>) -> tensor<4xf32>
// CHECK: return %[[SUM]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [1]
    : (tensor<8x6xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// A sum over the split dimension is one of the devices' sums.
// CHECK-NOT: all_gather
// CHECK: %[[PART:.*]] = stablehlo.reduce({{.*}}) {{.*}} : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
// CHECK: "stablehlo.all_reduce"(%[[PART]]) {{.*}}dense<{{\[\[}}0, 1]]>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<6xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %c) applies stablehlo.add across dimensions = [0]
    : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// Both operands split over one axis: the first one's rows stay, the second is gathered.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<2x8xf32>
// CHECK: "stablehlo.all_gather"{{.*}}
// CHECK: stablehlo.dot_general {{.*}} : (tensor<2x6xf32>, tensor<6x8xf32>) -> tensor<2x8xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<4x8xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Blocks of an uneven array have padding behind the last row, which is cut off when they leave the program.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.collective_permute
// CHECK: "stablehlo.all_gather"({{.*}} : (tensor<3xf32>) -> tensor<6xf32>
// CHECK: stablehlo.slice {{.*}} [0:5] : (tensor<6xf32>) -> tensor<5xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<5xf32> {
  %0 = stablehlo.slice %a [0:5] : (tensor<8xf32>) -> tensor<5xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"x"}]> : tensor<5xf32>
  return %1 : tensor<5xf32>
}

// -----

// A reshape keeps the split of the major dimension of a group alone.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reshape {{.*}} : (tensor<4x3x2xf32>) -> tensor<12x2x1xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}) -> tensor<24x2x1xf32> {
  %0 = stablehlo.reshape %a : (tensor<8x3x2xf32>) -> tensor<24x2x1xf32>
  return %0 : tensor<24x2x1xf32>
}

// -----

// What a loop carries stays split; what it only reads, and needs whole, is gathered before it.
// CHECK-LABEL: func.func @main
// CHECK: %[[WHOLE:.*]] = "stablehlo.all_gather"(%arg1)
// CHECK: stablehlo.while({{.*}} = %arg0, {{.*}} = %[[WHOLE]], {{.*}}) : tensor<2xf32>, tensor<4xf32>, tensor<i32>
// CHECK-NOT: all_gather
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %b: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %ten = stablehlo.constant dense<10> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %0:3 = stablehlo.while(%x = %a, %y = %b, %i = %zero) : tensor<4xf32>, tensor<4xf32>, tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %sum = stablehlo.reduce(%y init: %none) applies stablehlo.multiply across dimensions = [0]
      : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %sums = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.add %x, %sums : tensor<4xf32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %1, %y, %2 : tensor<4xf32>, tensor<4xf32>, tensor<i32>
  }
  return %0#0 : tensor<4xf32>
}

// -----

// JAX constrains scalars of computations where axes are left to the compiler.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.return
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<2xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    %1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %2 = stablehlo.add %l, %r : tensor<f32>
      %3 = sdy.sharding_constraint %2 <@mesh, []> : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Both sides of a contraction split alike give partial sums, as the gradient of a batch does; what is
// asked for unreduced stays so.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<6x5xf32>
// CHECK-NOT: all_gather
// CHECK: %[[PART:.*]] = stablehlo.dot_general {{.*}} : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK: %[[SUM:.*]] = "stablehlo.all_reduce"(%[[PART]])
// CHECK: return %[[SUM]], %[[PART]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x5xf32>, tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}) {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
    : (tensor<8x6xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}], unreduced={"x"}> : tensor<6x5xf32>
  return %0, %1 : tensor<6x5xf32>, tensor<6x5xf32>
}

// -----

// A whole array is a sum of itself and zeros; a parameter may come as partial sums.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = "stablehlo.all_reduce"(%arg0)
// CHECK: %[[R:.*]] = stablehlo.sine %[[A]]
// CHECK: %[[IS:.*]] = stablehlo.compare EQ
// CHECK: %[[S:.*]] = stablehlo.select %[[IS]], %[[R]], %{{.*}} : tensor<i1>, tensor<8xf32>
// CHECK: return %[[S]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = stablehlo.sine %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The greatest of the devices' greatest; and a sum at places that the devices' updates name.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: %[[MAX:.*]] = stablehlo.reduce(%arg0 {{.*}} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
// CHECK: "stablehlo.all_reduce"(%[[MAX]])
// CHECK: stablehlo.maximum
// CHECK: %[[BASE:.*]] = stablehlo.select %{{.*}}, %arg2
// CHECK: %[[ADDED:.*]] = "stablehlo.scatter"(%[[BASE]], %arg1, %arg0)
// CHECK: "stablehlo.all_reduce"(%[[ADDED]])
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %at: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %base: tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %least) applies stablehlo.maximum across dimensions = [0]
    : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.scatter"(%base, %at, %a) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
                                                     index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %2 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<5xf32>, tensor<8x1xi32>, tensor<8xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<f32>, tensor<5xf32>
}

// -----

// Blocks are partial sums at their places.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: %[[R:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %arg0, %{{.*}} : (tensor<8xf32>, tensor<4xf32>, tensor<i64>) -> tensor<8xf32>
// CHECK: return %[[R]]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  return %a : tensor<8xf32>
}

// -----

// A sum of an uneven array does not see its padding: 1 is what it starts with.
// CHECK-LABEL: func.func @main
// CHECK: %[[START:.*]] = stablehlo.constant dense<1.000000e+00>
// CHECK: stablehlo.select {{.*}} : tensor<4xi1>, tensor<4xf32>
// CHECK: stablehlo.reduce({{.*}} applies stablehlo.multiply {{.*}} : (tensor<4xf32>, tensor<f32>)
// CHECK: "stablehlo.all_reduce"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.slice %a [1:8] : (tensor<8xf32>) -> tensor<7xf32>
  %1 = stablehlo.reduce(%0 init: %one) applies stablehlo.multiply across dimensions = [0]
    : (tensor<7xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// What an operation needs whole is split along another dimension instead.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.all_to_all"({{.*}} : (tensor<4x6xf32>) -> tensor<8x3xf32>
// CHECK: "stablehlo.sort"
// CHECK: "stablehlo.all_to_all"({{.*}} : (tensor<8x3xf32>) -> tensor<4x6xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %2 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// -----

// A broadcast that is needed in other blocks is made of a small array anew.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_to_all
// CHECK: "stablehlo.all_gather"(%arg0) {{.*}} : (tensor<4xf32>) -> tensor<8xf32>
// CHECK: return {{.*}} : tensor<4x8xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.subtract %1, %0 : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Rows that every device has are not sent: one comes from the neighbour.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: stablehlo.collective_permute
// CHECK-NOT: all_gather
// CHECK: return {{.*}} : tensor<4xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<1xf32>
  %0 = stablehlo.slice %a [0:7] : (tensor<8xf32>) -> tensor<7xf32>
  %1 = stablehlo.concatenate %zero, %0, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// -----

// A roll by nothing moves nothing.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: return %arg0 : tensor<2x6xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:4, 0:6] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.slice %a [0:0, 0:6] : (tensor<4x6xf32>) -> tensor<0x6xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<4x6xf32>, tensor<0x6xf32>) -> tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// -----

// A loop that only adds to a sum carries each device's partial sum: the devices' are summed once, after it.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK: stablehlo.dot_general {{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK-NOT: all_reduce
// CHECK: stablehlo.return
// CHECK: "stablehlo.all_reduce"
// CHECK: (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: return
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
  %0:2 = stablehlo.while(%i = %first, %sum = %zeros) : tensor<i32>, tensor<4x4xf32>
  cond {
    %last = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.add %sum, %2 : tensor<4x4xf32>
    %4 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %3 : tensor<i32>, tensor<4x4xf32>
  }
  return %0#1 : tensor<4x4xf32>
}

// -----

// Two sums are one all_reduce, and what is made of the first waits for it.
// CHECK-LABEL: func.func @main
// CHECK: %[[ONE:.*]] = stablehlo.reduce(
// CHECK: %[[OTHER:.*]] = stablehlo.dot_general
// CHECK: %[[SUMS:.*]]:2 = "stablehlo.all_reduce"(%[[ONE]], %[[OTHER]])
// CHECK-NOT: all_reduce
// CHECK: stablehlo.negate %[[SUMS]]#0
// CHECK: return
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xf32>, tensor<6x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = stablehlo.negate %0 : tensor<6xf32>
  %2 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0]
    : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  return %1, %2 : tensor<6xf32>, tensor<6x6xf32>
}

// -----

// What is summed on a device is summed before the devices meet; reductions wait, as others do, so
// that the two are one all_reduce.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.dot_general
// CHECK: %[[ONE:.*]] = stablehlo.reduce({{.*}} -> tensor<3xf32>
// CHECK: %[[OTHER:.*]] = stablehlo.reduce({{.*}} -> tensor<6xf32>
// CHECK: %[[SUMS:.*]]:2 = "stablehlo.all_reduce"(%[[ONE]], %[[OTHER]])
// CHECK: stablehlo.reduce(%[[SUMS]]#0 {{.*}} applies stablehlo.maximum
// CHECK-NOT: all_reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<f32>, tensor<6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
    : (tensor<4x3xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<3x6xf32>, tensor<f32>) -> tensor<3xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.maximum across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %2, %3 : tensor<f32>, tensor<6xf32>
}
