// Collectives set out where their operands are there, and are waited for where somebody needs them.
// RUN: isthmus-opt %s -overlap-collectives -split-input-file | FileCheck %s

// The second array is gathered while the product with the first is computed, not before the first
// has come.
// CHECK-LABEL: func.func @main
// CHECK: %[[ONE:.*]] = "stablehlo.all_gather"(%arg0)
// CHECK-NOT: started_as
// CHECK: %[[TWO:.*]] = "stablehlo.all_gather"(%arg1) {{.*}}isthmus.started_as = 0
// CHECK: %[[DOT:.*]] = stablehlo.dot_general %[[ONE]], %arg2
// CHECK: isthmus.await 0 : %arg1, %[[TWO]]
// CHECK: stablehlo.dot_general %[[DOT]], %[[TWO]]
func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.dot_general %0, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// Two that are ready together are under way together, in a loop too; views are not uses.
// CHECK-LABEL: func.func @main
// CHECK: do {
// CHECK: %[[LEFT:.*]] = "stablehlo.collective_permute"(%[[X:.*]]) {{.*}}isthmus.started_as = 0
// CHECK: %[[RIGHT:.*]] = "stablehlo.collective_permute"(%[[X]])
// CHECK-NOT: started_as
// CHECK: %[[VIEW:.*]] = stablehlo.reshape %[[LEFT]]
// CHECK: stablehlo.reshape %[[VIEW]]
// CHECK: isthmus.await 0 : %[[X]], %[[LEFT]]
// CHECK: stablehlo.dot_general
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
  cond {
    %limit = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.reshape %1 : (tensor<8x8xf32>) -> tensor<64xf32>
    %3 = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %4 = stablehlo.reshape %2 : (tensor<64xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.dot_general %4, %3, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %i, %5 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}

// -----

// Nothing passes a call that has an order, and what is needed at once is waited for at once.
// CHECK-LABEL: func.func @main
// CHECK-NOT: {{started_as|await}}
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @calls_out(%0) {has_side_effect = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}
