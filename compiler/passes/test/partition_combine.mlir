// RUN: isthmus-opt %s --split-input-file --partition=num-partitions=2 | FileCheck %s

// Blocks of two arrays that are gathered along different dimensions are sent together.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[A:.*]] = stablehlo.reshape %arg0 : (tensor<2x6xf32>) -> tensor<1x12xf32>
// CHECK-DAG: %[[B:.*]] = stablehlo.reshape %arg1 : (tensor<4x3xf32>) -> tensor<1x12xf32>
// CHECK: %[[SENT:.*]] = stablehlo.concatenate %[[A]], %[[B]], dim = 1
// CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%[[SENT]]) <{all_gather_dim = 0 {{.*}} -> tensor<2x24xf32>
// CHECK-NOT: all_gather
// CHECK-DAG: stablehlo.slice %[[ALL]] [0:2, 0:12]
// CHECK-DAG: %[[PART:.*]] = stablehlo.slice %[[ALL]] [0:2, 12:24]
// CHECK: %[[TABLE:.*]] = stablehlo.reshape %[[PART]] : (tensor<2x12xf32>) -> tensor<2x4x3xf32>
// CHECK: stablehlo.transpose %[[TABLE]], dims = [1, 0, 2]
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {}]> : tensor<4x6xf32>
  %1 = stablehlo.cosine %0 : tensor<4x6xf32>
  %2 = sdy.sharding_constraint %b <@mesh, [{}, {}]> : tensor<4x6xf32>
  %3 = stablehlo.add %1, %2 : tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// -----

// So are permutations among the same devices, but not the ones among others, or of another type.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: "stablehlo.collective_permute"
// CHECK: stablehlo.concatenate %arg0, %arg1, dim = 1
// CHECK: "stablehlo.collective_permute"
// CHECK-SAME: dense<{{\[\[}}0, 1], [1, 0]]> {{.*}} (tensor<1x10xf32>)
// CHECK-NOT: collective_permute
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<2x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<2x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<2x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi32>) {
  %0:4 = sdy.manual_computation(%a, %b, %c)
      in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%d: tensor<1x4xf32>, %e: tensor<1x6xf32>, %f: tensor<1x6xi32>) {
    %1 = "stablehlo.collective_permute"(%d) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %2 = "stablehlo.collective_permute"(%e) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>}> : (tensor<1x6xf32>) -> tensor<1x6xf32>
    %3 = "stablehlo.collective_permute"(%e) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<1x6xf32>) -> tensor<1x6xf32>
    %4 = "stablehlo.collective_permute"(%f) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>}> : (tensor<1x6xi32>) -> tensor<1x6xi32>
    sdy.return %1, %2, %3, %4 : tensor<1x4xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xi32>
  } : (tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xi32>) -> (tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<2x4xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xi32>
}

// -----

// What is needed to make the operand of another one does not wait for it, nor does a large array.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-3: "stablehlo.all_gather"
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<4096x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x6xf32>, tensor<4096x8xf32>) {
  %0:2 = sdy.manual_computation(%a, %b)
      in_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>]
      manual_axes={"x"} (%c: tensor<2x6xf32>, %d: tensor<2048x8xf32>) {
    %1 = "stablehlo.all_gather"(%c) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    %2 = stablehlo.slice %1 [1:3, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %3 = "stablehlo.all_gather"(%2) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    %4 = "stablehlo.all_gather"(%d) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids}> : (tensor<2048x8xf32>) -> tensor<4096x8xf32>
    sdy.return %3, %4 : tensor<4x6xf32>, tensor<4096x8xf32>
  } : (tensor<4x6xf32>, tensor<4096x8xf32>) -> (tensor<4x6xf32>, tensor<4096x8xf32>)
  return %0#0, %0#1 : tensor<4x6xf32>, tensor<4096x8xf32>
}

// -----

// Arrays of which each device keeps a part, or sends one to each, lie part by part.
// CHECK-LABEL: func.func @main
// CHECK-DAG: stablehlo.transpose {{.*}} (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
// CHECK: "stablehlo.reduce_scatter"({{.*}}scatter_dimension = 0
// CHECK: (tensor<2x24xf32>) -> tensor<1x24xf32>
// CHECK: "stablehlo.all_to_all"({{.*}}concat_dimension = 0{{.*}}split_dimension = 0
// CHECK-SAME: (tensor<2x12xf32>) -> tensor<2x12xf32>
// CHECK-NOT: {{reduce_scatter|all_to_all}}
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32>)
    -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0:4 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>]
      out_shardings=[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{}, {"x"}]>, <@mesh, [{"x"}, {}]>]
      manual_axes={"x"} (%b: tensor<4x6xf32>) {
    %1 = "stablehlo.reduce_scatter"(%b) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %2 = "stablehlo.reduce_scatter"(%b) <{scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %3 = stablehlo.slice %b [0:4, 0:3] : (tensor<4x6xf32>) -> tensor<4x3xf32>
    %4 = stablehlo.slice %b [0:2, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %5 = "stablehlo.all_to_all"(%4) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>}> : (tensor<2x6xf32>) -> tensor<4x3xf32>
    %6 = "stablehlo.all_to_all"(%3) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
    sdy.return %1, %2, %5, %6 : tensor<2x6xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2x6xf32>
  } : (tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>)
  return %0#0, %0#1, %0#2, %0#3 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

// A gather that needs another one has no sums wait for it, and none of them is put before it.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: "stablehlo.all_gather"
// CHECK: "stablehlo.all_reduce"(%arg0, %{{.*}})
// CHECK-NOT: all_reduce
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>) {
  %0:3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>]
      out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{}, {}]>, <@mesh, [{}, {}]>]
      manual_axes={"x"} (%c: tensor<2x6xf32>) {
    %1 = "stablehlo.all_reduce"(%c) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %2 = "stablehlo.all_gather"(%c) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.slice %2 [1:3, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, use_global_device_ids}> : (tensor<2x6xf32>) -> tensor<4x6xf32>
    %5 = stablehlo.slice %4 [0:2, 0:6] : (tensor<4x6xf32>) -> tensor<2x6xf32>
    %6 = "stablehlo.all_reduce"(%3) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, use_global_device_ids}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<2x6xf32>) -> tensor<2x6xf32>
    sdy.return %1, %4, %6 : tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>
  } : (tensor<4x6xf32>) -> (tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>)
  return %0#0, %0#1, %0#2 : tensor<2x6xf32>, tensor<4x6xf32>, tensor<2x6xf32>
}

// -----

// What nobody reads of what is joined is not sent.
// CHECK-LABEL: func.func @main
// CHECK-NOT: collective_permute
// CHECK: return
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = sdy.manual_computation(%a)
      in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x6xf32>) {
    %1 = stablehlo.slice %b [0:2, 5:6] : (tensor<2x6xf32>) -> tensor<2x1xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x1xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.concatenate %2, %b, dim = 1 : (tensor<2x1xf32>, tensor<2x6xf32>) -> tensor<2x7xf32>
    %4 = stablehlo.slice %3 [0:2, 2:7:2] : (tensor<2x7xf32>) -> tensor<2x3xf32>
    sdy.return %4 : tensor<2x3xf32>
  } : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}
