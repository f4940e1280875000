// RUN: isthmus-opt %s -partition=num-partitions=2 -split-input-file | FileCheck %s

// Elementwise work stays where its slice is: half of the array on each device, nothing moves.
// CHECK-LABEL: @main
// CHECK-SAME: (%arg0: tensor<4xf32>
// CHECK-NOT: stablehlo.all_gather
// CHECK: stablehlo.sine %arg0 : tensor<4xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// What every device is to have whole is gathered.
// CHECK-LABEL: @main
// CHECK-SAME: (%arg0: tensor<4xf32>
// CHECK-SAME: -> (tensor<8xf32>
// CHECK: stablehlo.all_gather
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.sine %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
