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
