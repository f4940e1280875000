// Custom calls that shall run on one device, and callbacks that each device runs with its blocks.
// RUN: isthmus-opt %s -partition=num-partitions=2 -split-input-file -verify-diagnostics | FileCheck %s

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @first = <[], device_ids=[0]>
// CHECK-LABEL: @on_one_device
// CHECK: %[[ALL:.*]] = "stablehlo.all_gather"
// CHECK: %[[SELF:.*]] = stablehlo.partition_id
// CHECK: %[[IS:.*]] = stablehlo.compare EQ, %[[SELF]]
// CHECK: %[[R:.*]]:2 = "stablehlo.if"(%[[IS]])
// CHECK: stablehlo.custom_call @call(%{{.*}}, %[[ALL]])
// CHECK-NOT: sdy.sharding
// CHECK: after_all
// CHECK: "stablehlo.collective_broadcast"(%[[R]]#1)
// CHECK-SAME: dense<{{\[\[}}0, 1]]>
func.func @main(%t: !stablehlo.token, %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (!stablehlo.token, tensor<4xf32>) attributes {test = @on_one_device} {
  %0:2 = stablehlo.custom_call @call(%t, %a) {has_side_effect = true,
    sdy.sharding = #sdy.sharding_per_value<[<@first, []>, <@first, []>]>}
    : (!stablehlo.token, tensor<4xf32>) -> (!stablehlo.token, tensor<4xf32>)
  return %0#0, %0#1 : !stablehlo.token, tensor<4xf32>
}

// -----

sdy.mesh @mesh = <["x"=2]>
sdy.mesh @first = <[], device_ids=[0]>
// CHECK-LABEL: @each_with_its_blocks
// CHECK-NOT: all_gather
// CHECK: stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%{{.*}}) {{.*}} : (tensor<2xf32>) -> ()
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) attributes {test = @each_with_its_blocks} {
  stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%a) {has_side_effect = true,
    sdy.sharding = #sdy.sharding_per_value<[<@first, []>]>} : (tensor<4xf32>) -> ()
  return
}

// -----

// What is needed whole to be sliced comes whole to the callback, though it travels in other blocks.
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @first = <[], device_ids=[0]>
// CHECK-LABEL: @whole_beside_blocks
// CHECK: stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%{{.*}}) {{.*}} : (tensor<2xi32>, tensor<1xi32>) -> ()
func.func @main(%a: tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) attributes {test = @whole_beside_blocks} {
  %0 = stablehlo.slice %a [1:2, 0:2] : (tensor<2x2xi32>) -> tensor<1x2xi32>
  %1 = stablehlo.reshape %0 : (tensor<1x2xi32>) -> tensor<2xi32>
  %2 = stablehlo.slice %b [0:2, 1:2] : (tensor<2x2xi32>) -> tensor<2x1xi32>
  %3 = stablehlo.reshape %2 : (tensor<2x1xi32>) -> tensor<2xi32>
  stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%1, %3) {has_side_effect = true,
    sdy.sharding = #sdy.sharding_per_value<[<@first, []>]>} : (tensor<2xi32>, tensor<2xi32>) -> ()
  return
}

// -----

// What a loop only reads stays in blocks for a callback in it.
sdy.mesh @mesh = <["x"=2]>
// CHECK-LABEL: @blocks_in_a_loop
// CHECK-NOT: all_gather
// CHECK: stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%{{.*}}) {{.*}} : (tensor<2xf32>) -> ()
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %n: tensor<i1>) attributes {test = @blocks_in_a_loop} {
  %0:2 = stablehlo.while(%go = %n, %x = %a) : tensor<i1>, tensor<4xf32>
  cond {
    stablehlo.return %go : tensor<i1>
  } do {
    stablehlo.custom_call @xla_ffi_partitioned_python_cpu_callback(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
    %1 = stablehlo.not %go : tensor<i1>
    stablehlo.return %1, %x : tensor<i1>, tensor<4xf32>
  }
  return
}

// -----
// expected-error@-1 {{@call asks for device 2 of 2}}

sdy.mesh @third = <[], device_ids=[2]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @call(%a) {sdy.sharding = #sdy.sharding_per_value<[<@third, []>]>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{the backend_config of @InspectSharding is not a callback}}
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @InspectSharding(%a) {backend_config = "short"} : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{the callback of @InspectSharding is no function of this process}}
module {
  sdy.mesh @mesh = <["x"=2]>
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @InspectSharding(%a) {backend_config = "0123456789abcdef"} : (tensor<4xf32>) -> tensor<4xf32>
    return %a : tensor<4xf32>
  }
}
