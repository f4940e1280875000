// Why kernels stay apart: a line for each pair of which one feeds the other.
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -fuse 2>&1 | FileCheck %s

// CHECK-DAG: reduce at long is not fused into subtract at difference: rows that are read twice and are too long
func.func @long_rows(%x: tensor<64x1048576xf32>) -> tensor<64x1048576xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x1048576xf32>, tensor<f32>) -> tensor<64xf32> loc("long")
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x1048576xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x1048576xf32> loc("difference")
  return %d : tensor<64x1048576xf32>
}

// CHECK-DAG: reduce at rows is not fused into reduce at all: reductions of different shapes or dimensions
func.func @two_levels(%x: tensor<512x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32> loc("rows")
  %s = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<512xf32>, tensor<f32>) -> tensor<f32> loc("all")
  return %s : tensor<f32>
}

// Each of a vector's lanes computes a power, of which one in eight is wanted.
// CHECK-DAG: power at dear is not fused into pad at apart: computing again costs
func.func @between_dilated_elements(%x: tensor<100000xf32>) -> tensor<799993xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.power %x, %x : tensor<100000xf32> loc("dear")
  %p = stablehlo.pad %e, %zero, low = [0], high = [0], interior = [7] : (tensor<100000xf32>, tensor<f32>) -> tensor<799993xf32> loc("apart")
  return %p : tensor<799993xf32>
}

// The update is half of what lies elsewhere: all of %x would be copied.
// CHECK-DAG: dynamic_slice at elsewhere is not fused into multiply at half: what is updated in place would be read elsewhere
func.func @reads_elsewhere(%x: tensor<4096xf32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<4096xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<64xf32>
  %s = stablehlo.dynamic_slice %x, %j, sizes = [64] : (tensor<4096xf32>, tensor<i32>) -> tensor<64xf32> loc("elsewhere")
  %u = stablehlo.multiply %s, %h : tensor<64xf32> loc("half")
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<64xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// CHECK-LABEL: @reads_itself
// CHECK: isthmus.fusion
// CHECK: dynamic_slice
// CHECK-NOT: isthmus.fusion
// CHECK: dynamic_update_slice
func.func @reads_itself(%x: tensor<4096xf32>, %i: tensor<i32>) -> tensor<4096xf32> {
  %h = stablehlo.constant dense<0.5> : tensor<64xf32>
  %s = stablehlo.dynamic_slice %x, %i, sizes = [64] : (tensor<4096xf32>, tensor<i32>) -> tensor<64xf32>
  %u = stablehlo.multiply %s, %h : tensor<64xf32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<64xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// Both begin at 3, where the update is moved to since it would stick out at 9.
// CHECK-LABEL: @reads_itself_at_a_known_place
// CHECK: isthmus.fusion
// CHECK: stablehlo.slice
// CHECK-NOT: isthmus.fusion
// CHECK: dynamic_update_slice
func.func @reads_itself_at_a_known_place(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %i = stablehlo.constant dense<9> : tensor<i32>
  %h = stablehlo.constant dense<0.5> : tensor<4093xf32>
  %s = stablehlo.slice %x [3:4096] : (tensor<4096xf32>) -> tensor<4093xf32>
  %u = stablehlo.multiply %s, %h : tensor<4093xf32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<4093xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// CHECK-LABEL: @reads_beside_a_known_place
// CHECK: isthmus.fusion
// CHECK: stablehlo.slice
// CHECK: isthmus.fusion
// CHECK: dynamic_update_slice
func.func @reads_beside_a_known_place(%x: tensor<4096xf32>) -> tensor<4096xf32> {
  %i = stablehlo.constant dense<2> : tensor<i32>
  %h = stablehlo.constant dense<0.5> : tensor<4093xf32>
  %s = stablehlo.slice %x [3:4096] : (tensor<4096xf32>) -> tensor<4093xf32>
  %u = stablehlo.multiply %s, %h : tensor<4093xf32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<4093xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// CHECK-LABEL: @updates_by_another_part
// CHECK: isthmus.fusion
// CHECK-NEXT: bb0
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: isthmus.yield
// CHECK: isthmus.fusion
// CHECK-NEXT: bb0
// CHECK-NEXT: dynamic_update_slice
func.func @updates_by_another_part(%x: tensor<4096xf32>, %i: tensor<i32>) -> tensor<4096xf32> {
  %u = stablehlo.slice %x [0:4] : (tensor<4096xf32>) -> tensor<4xf32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}

// CHECK-LABEL: @updates_by_copies_of_another_part
// CHECK: isthmus.fusion
// CHECK-NEXT: bb0
// CHECK-NEXT: stablehlo.slice
// CHECK-NEXT: isthmus.yield
// CHECK: isthmus.fusion
// CHECK-NOT: stablehlo.slice
// CHECK: dynamic_update_slice
func.func @updates_by_copies_of_another_part(%x: tensor<4096xf32>, %i: tensor<i32>) -> tensor<4096xf32> {
  %s = stablehlo.slice %x [3:4] : (tensor<4096xf32>) -> tensor<1xf32>
  %r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
  %u = stablehlo.broadcast_in_dim %r, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %y = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<4096xf32>, tensor<4xf32>, tensor<i32>) -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}
