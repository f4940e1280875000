// Collectives of a loop's body that do not depend on the round are carried out once.
// RUN: isthmus-opt %s --split-input-file --partition=num-partitions=2 | FileCheck %s

// All devices come by, so that it does not matter whether there is a round. What depends on the round
// stays, alone.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"(%arg0) {{.*}} -> tensor<8x4xf32>
// CHECK-NEXT: stablehlo.while
// CHECK: do {
// CHECK-NOT: stablehlo.concatenate
// CHECK: "stablehlo.all_gather"(%{{.*}} -> tensor<8x4xf32>
// CHECK-NOT: all_gather
sdy.mesh @mesh = <["x"=2]>
func.func @main(%w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %n: tensor<i32>) -> tensor<8x4xf32> {
  %0 = sdy.manual_computation(%w, %x, %n)
      in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, []>]
      out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"}
      (%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %limit: tensor<i32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1:3 = stablehlo.while(%k = %a, %i = %zero, %h = %b) : tensor<4x4xf32>, tensor<i32>, tensor<4x4xf32>
    cond {
      %2 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = "stablehlo.all_gather"(%k) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
      %3 = "stablehlo.all_gather"(%h) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
      %4 = stablehlo.dot_general %2, %3, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
      %5 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %k, %5, %4 : tensor<4x4xf32>, tensor<i32>, tensor<4x4xf32>
    }
    sdy.return %1#2 : tensor<4x4xf32>
  } : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<i32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// Not all devices may come by a loop in a branch, nor have a round there: only where it has one, the
// sum goes out of the loop.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.if"
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: "stablehlo.all_reduce"
// CHECK: }, {
// CHECK: "stablehlo.all_reduce"
// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i32>,
                %p: tensor<i1>) -> tensor<4xf32> {
  %0 = sdy.manual_computation(%x, %n, %p)
      in_shardings=[<@mesh, [{"x"}]>, <@mesh, []>, <@mesh, []>]
      out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"}
      (%a: tensor<2xf32>, %limit: tensor<i32>, %q: tensor<i1>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %three = stablehlo.constant dense<3> : tensor<i32>
    %1 = "stablehlo.if"(%q) ({
      %2:2 = stablehlo.while(%i = %zero, %h = %a) : tensor<i32>, tensor<2xf32>
      cond {
        %3 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %s = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<2xf32>) -> tensor<2xf32>
        %4 = stablehlo.multiply %h, %3 : tensor<2xf32>
        %5 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %5, %4 : tensor<i32>, tensor<2xf32>
      }
      stablehlo.return %2#1 : tensor<2xf32>
    }, {
      %2:2 = stablehlo.while(%i = %zero, %h = %a) : tensor<i32>, tensor<2xf32>
      cond {
        %3 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %3 : tensor<i1>
      } do {
        %3 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %s = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) : (tensor<2xf32>) -> tensor<2xf32>
        %4 = stablehlo.multiply %h, %3 : tensor<2xf32>
        %5 = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %5, %4 : tensor<i32>, tensor<2xf32>
      }
      stablehlo.return %2#1 : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<4xf32>, tensor<i32>, tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
