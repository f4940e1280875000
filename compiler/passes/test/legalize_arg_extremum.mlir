// Where both values are NaN the index decides, so that elements may come in any order.
// RUN: isthmus-opt %s -legalize-ops | FileCheck %s

// CHECK-LABEL: @argmax
// CHECK: stablehlo.select {{.*}} : tensor<i1>, tensor<f32>
// CHECK-NEXT: [[X:%[0-9]+]] = stablehlo.compare NE, [[A:%[a-z0-9]+]], [[A]] :
// CHECK-NEXT: [[Y:%[0-9]+]] = stablehlo.compare NE, [[B:%[a-z0-9]+]], [[B]] :
// CHECK-NEXT: [[BOTH:%[0-9]+]] = stablehlo.and [[X]], [[Y]]
// CHECK-NEXT: [[FIRST:%[0-9]+]] = stablehlo.select [[BOTH]],
// CHECK-NEXT: stablehlo.select [[FIRST]],
func.func @argmax(%values: tensor<1x9xf32>, %indices: tensor<1x9xi32>, %least: tensor<f32>, %zero: tensor<i32>) -> tensor<1xi32> {
  %0:2 = "stablehlo.reduce"(%values, %indices, %least, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
    %gt = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %nan = stablehlo.compare NE, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %win = stablehlo.or %gt, %nan : tensor<i1>
    %eq = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %first = stablehlo.or %win, %tie : tensor<i1>
    %value = stablehlo.select %win, %x, %y : tensor<i1>, tensor<f32>
    %index = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }) : (tensor<1x9xf32>, tensor<1x9xi32>, tensor<f32>, tensor<i32>) -> (tensor<1xf32>, tensor<1xi32>)
  return %0#1 : tensor<1xi32>
}
