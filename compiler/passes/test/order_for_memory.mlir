// RUN: isthmus-opt %s -order-for-memory | FileCheck %s

// What frees an array comes before the next one is made.
// CHECK-LABEL: @frees_early
// CHECK: %[[P:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[S:.*]] = stablehlo.reduce(%[[P]]
// CHECK-NEXT: %[[Z:.*]] = stablehlo.exponential %arg2
// CHECK-NEXT: stablehlo.dot_general %[[Z]]
func.func @frees_early(%x: tensor<256x64xf32>, %w: tensor<64x256xf32>, %y: tensor<256x256xf32>) -> (tensor<256x64xf32>, tensor<256xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x64xf32>, tensor<64x256xf32>) -> tensor<256x256xf32>
  %1 = stablehlo.exponential %y : tensor<256x256xf32>
  %2 = stablehlo.dot_general %1, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %3 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  return %2, %3 : tensor<256x64xf32>, tensor<256xf32>
}

// And an array is made where it is read, with the views of it.
// CHECK-LABEL: @made_late
// CHECK: %[[A:.*]] = stablehlo.tanh
// CHECK-NEXT: %[[B:.*]] = stablehlo.dot_general %[[A]]
// CHECK-NEXT: %[[Z:.*]] = stablehlo.broadcast_in_dim
// CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %[[Z]]
// CHECK-NEXT: stablehlo.dot_general %[[V]]
func.func @made_late(%x: tensor<256x64xf32>, %y: tensor<64xf32>) -> tensor<64x64xf32> {
  %5 = stablehlo.broadcast_in_dim %y, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %6 = stablehlo.reshape %5 : (tensor<64x64xf32>) -> tensor<64x64x1xf32>
  %0 = stablehlo.tanh %x : tensor<256x64xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [0] x [0] : (tensor<256x64xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.dot_general %6, %1, contracting_dims = [1] x [0] : (tensor<64x64x1xf32>, tensor<64x64xf32>) -> tensor<64x1x64xf32>
  %3 = stablehlo.reshape %2 : (tensor<64x1x64xf32>) -> tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// What reads an array stays before what may change it in place, in loops as well.
// CHECK-LABEL: @updated
// CHECK: do {
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.dynamic_update_slice
// CHECK-NEXT: stablehlo.dot_general
func.func @updated(%x: tensor<64x64xf32>, %u: tensor<1x64xf32>, %p: tensor<i1>, %i: tensor<i32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0:2 = stablehlo.while(%a = %x, %b = %x) : tensor<64x64xf32>, tensor<64x64xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %1 = stablehlo.exponential %a : tensor<64x64xf32>
    %2 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<64x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<64x64xf32>
    %3 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    stablehlo.return %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>
  }
  return %0#0, %0#1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// A loop may be what reads an array for the last time, from inside.
// CHECK-LABEL: @captured
// CHECK: %[[A:.*]] = stablehlo.exponential
// CHECK-NEXT: %[[S:.*]] = stablehlo.reduce(%[[A]]
// CHECK: stablehlo.while
func.func @captured(%x: tensor<64x64xf32>, %p: tensor<i1>) -> (tensor<64x64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<64x64xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.while(%a = %x) : tensor<64x64xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    %3 = stablehlo.add %a, %0 : tensor<64x64xf32>
    stablehlo.return %3 : tensor<64x64xf32>
  }
  %4 = stablehlo.tanh %2 : tensor<64x64xf32>
  return %4, %1 : tensor<64x64xf32>, tensor<64xf32>
}

// What stands between a collective and what reads its result hides the time it takes.
// CHECK-LABEL: @collective
// CHECK: stablehlo.all_reduce
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.reduce
func.func @collective(%x: tensor<256x64xf32>, %y: tensor<256x256xf32>) -> (tensor<256xf32>, tensor<256x256xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<256x64xf32>) -> tensor<256x64xf32>
  %1 = stablehlo.exponential %y : tensor<256x256xf32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x64xf32>, tensor<f32>) -> tensor<256xf32>
  return %2, %1 : tensor<256xf32>, tensor<256x256xf32>
}
