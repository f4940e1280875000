// Code for each device along one axis: what it does is split over the other.
// RUN: isthmus-opt %s -partition=num-partitions=4 | FileCheck %s

// CHECK-LABEL: func.func @main(%arg0: tensor<4x2xf32>
// CHECK-NOT: all_gather
// CHECK: stablehlo.multiply {{.*}} : tensor<4x2xf32>
// CHECK: "stablehlo.all_reduce"(%{{.*}}dense<{{\[\[}}0, 2], [1, 3]]>
// CHECK: (tensor<4x2xf32>) -> tensor<4x2xf32>
// CHECK: return %{{.*}} : tensor<4x2xf32>
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> (tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{?}, {?}]>] manual_axes={"x"} (%b: tensor<4x4xf32>) {
    %1 = stablehlo.multiply %b, %b : tensor<4x4xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %3 = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    sdy.return %2 : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
