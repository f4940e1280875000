// Arrays moved along a split dimension: neighbours exchange borders.
// RUN: isthmus-opt %s -partition=num-partitions=4 -split-input-file | FileCheck %s

// jnp.roll(x, 1): the last row of each device goes to the next one, round the ring.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK-DAG: %[[LAST:.*]] = stablehlo.slice %arg0 [1:2, 0:3]
// CHECK-DAG: %[[FIRST:.*]] = stablehlo.slice %arg0 [0:1, 0:3]
// CHECK-DAG: %[[GOT:.*]] = "stablehlo.collective_permute"(%[[LAST]]) {{.*}}dense<{{\[\[}}3, 0], [0, 1], [1, 2], [2, 3]]>
// CHECK: stablehlo.concatenate %[[GOT]], %[[FIRST]], dim = 0
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x3xf32> {
  %0 = stablehlo.slice %a [7:8, 0:3] : (tensor<8x3xf32>) -> tensor<1x3xf32>
  %1 = stablehlo.slice %a [0:7, 0:3] : (tensor<8x3xf32>) -> tensor<7x3xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1x3xf32>, tensor<7x3xf32>) -> tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

// -----

// A row further, with nothing from beyond the end.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}1, 0], [2, 1], [3, 2]]>
// CHECK: stablehlo.select
// CHECK: stablehlo.concatenate {{.*}} dim = 0 : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.pad %a, %one, low = [1, 0], high = [1, 0], interior = [0, 0] : (tensor<8x3xf32>, tensor<f32>) -> tensor<10x3xf32>
  %1 = stablehlo.slice %0 [2:10, 0:3] : (tensor<10x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// Along a dimension that is not split it is what it was.
// CHECK-LABEL: func.func @main
// CHECK-NOT: collective_permute
// CHECK: stablehlo.concatenate {{.*}} dim = 1 : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x3xf32> {
  %0 = stablehlo.slice %a [0:8, 2:3] : (tensor<8x3xf32>) -> tensor<8x1xf32>
  %1 = stablehlo.slice %a [0:8, 0:2] : (tensor<8x3xf32>) -> tensor<8x2xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<8x1xf32>, tensor<8x2xf32>) -> tensor<8x3xf32>
  return %2 : tensor<8x3xf32>
}

// -----

// Seven rows over four devices: the rows that come around the end are found behind the padding.
// CHECK-LABEL: func.func @main
// CHECK-NOT: all_gather
// CHECK: "stablehlo.collective_permute"{{.*}} : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK: "stablehlo.collective_permute"{{.*}}dense<{{\[\[}}3, 0]]>{{.*}} : (tensor<1x3xf32>) -> tensor<1x3xf32>
// CHECK-NOT: collective_permute
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<7x3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<7x3xf32>
  %1 = stablehlo.slice %0 [6:7, 0:3] : (tensor<7x3xf32>) -> tensor<1x3xf32>
  %2 = stablehlo.slice %0 [0:6, 0:3] : (tensor<7x3xf32>) -> tensor<6x3xf32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1x3xf32>, tensor<6x3xf32>) -> tensor<7x3xf32>
  %4 = stablehlo.subtract %3, %0 : tensor<7x3xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<7x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %5 : tensor<3xf32>
}

// -----

// What every device has is reversed whole.
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.reverse %arg0, dims = [0] : tensor<8x3xf32>
// CHECK-NOT: collective_permute
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x3xf32>) -> (tensor<8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.reverse %a, dims = [0] : tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}
