// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// The gradient of w[i] in a loop: no array of zeros, and only the slice is added.
// CHECK-LABEL: @slices_of_a_sum
// CHECK: } do {
// CHECK: %[[OLD:.*]] = stablehlo.dynamic_slice %[[SUM:.*]], %[[I:.*]], %{{.*}}, sizes = [1, 4]
// CHECK: %[[NEW:.*]] = stablehlo.add %[[OLD]], %arg0 : tensor<1x4xf32>
// CHECK: %[[ALL:.*]] = stablehlo.dynamic_update_slice %[[SUM]], %[[NEW]], %[[I]],
// CHECK: stablehlo.return %{{.*}}, %[[ALL]]
func.func @slices_of_a_sum(%x: tensor<1x4xf32>) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %sum = %zeros) : tensor<i32>, tensor<8x4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %u = stablehlo.dynamic_update_slice %zeros, %x, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %s = stablehlo.add %sum, %u : tensor<8x4xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %s : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

// What comes in may have elements that are -0.0, which adding zeros makes +0.0.
// CHECK-LABEL: @negative_zeros
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<8x4xf32>
func.func @negative_zeros(%x: tensor<1x4xf32>, %first: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c8 = stablehlo.constant dense<8> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c0, %sum = %first) : tensor<i32>, tensor<8x4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %u = stablehlo.dynamic_update_slice %zeros, %x, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
    %s = stablehlo.add %sum, %u : tensor<8x4xf32>
    %n = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %n, %s : tensor<i32>, tensor<8x4xf32>
  }
  return %r#1 : tensor<8x4xf32>
}

// -----

// A product may be -0.0, a sum of it and +0.0 not; integers have one zero.
// CHECK-LABEL: @outside_of_loops
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<8xf32>
// CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<2xi32>
// CHECK-NOT: stablehlo.add
func.func @outside_of_loops(%x: tensor<8xf32>, %u: tensor<2xf32>, %y: tensor<8xi32>, %v: tensor<2xi32>, %at: tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>) {
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %none = stablehlo.constant dense<0> : tensor<8xi32>
  %p = stablehlo.multiply %x, %x : tensor<8xf32>
  %a = stablehlo.dynamic_update_slice %zeros, %u, %at : (tensor<8xf32>, tensor<2xf32>, tensor<i32>) -> tensor<8xf32>
  %b = stablehlo.add %p, %a : tensor<8xf32>
  %c = stablehlo.dynamic_update_slice %none, %v, %at : (tensor<8xi32>, tensor<2xi32>, tensor<i32>) -> tensor<8xi32>
  %d = stablehlo.add %c, %y : tensor<8xi32>
  return %b, %d : tensor<8xf32>, tensor<8xi32>
}

// -----

// The gradient of an embedding in a loop adds to the rows that a round has looked up.
// CHECK-LABEL: @looked_up_rows
// CHECK: stablehlo.while(%{{.*}}, %[[SUM:.*]] = %{{.*}}) :
// CHECK: "stablehlo.scatter"(%[[SUM]], %{{.*}}, %{{.*}})
func.func @looked_up_rows(%at: tensor<16x1xi32>, %u: tensor<16x8xf32>, %n: tensor<i32>) -> tensor<100x8xf32> {
  %zeros = stablehlo.constant dense<0.0> : tensor<100x8xf32>
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %0, %sum = %zeros) : tensor<i32>, tensor<100x8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %g = "stablehlo.scatter"(%zeros, %at, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      %s = stablehlo.add %old, %new : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<100x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<100x8xf32>
    %next = stablehlo.add %sum, %g : tensor<100x8xf32>
    %j = stablehlo.add %i, %1 : tensor<i32>
    stablehlo.return %j, %next : tensor<i32>, tensor<100x8xf32>
  }
  return %r#1 : tensor<100x8xf32>
}
