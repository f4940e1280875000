// RUN: isthmus-opt %s -legalize-ops | FileCheck %s
// Slices travel in parts of one size: as many rows as either array has.

// CHECK-LABEL: func.func @exchange
// CHECK: %[[PARTS:.*]] = "stablehlo.gather"(%arg0, %{{.*}} : (tensor<9x2xf32>, tensor<4x7xi32>) -> tensor<4x7x2xf32>
// CHECK: "stablehlo.all_to_all"(%[[PARTS]]) {{.*}}handle = 3, type = 1{{.*}}split_count = 2
// CHECK: "stablehlo.all_to_all"(%arg4) {{.*}} : (tensor<4xi32>) -> tensor<4xi32>
// CHECK: stablehlo.reduce{{.*}}applies stablehlo.maximum across dimensions = [0] : (tensor<4x7xi32>, tensor<i32>) -> tensor<7xi32>
// CHECK: "stablehlo.gather"{{.*}} : (tensor<28x2xf32>, tensor<7xi32>) -> tensor<7x2xf32>
// CHECK: stablehlo.select {{.*}}, %arg1
func.func @exchange(%x: tensor<9x2xf32>, %y: tensor<7x2xf32>, %from: tensor<4xi32>, %sent: tensor<4xi32>, %to: tensor<4xi32>, %received: tensor<4xi32>) -> tensor<7x2xf32> {
  %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %from, %sent, %to, %received) {api_version = 4 : i32, backend_config = {channel_id = 3 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<9x2xf32>, tensor<7x2xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<7x2xf32>
  return %0 : tensor<7x2xf32>
}

// Three slices are not so many for each of two peers: left for the error.
// CHECK-LABEL: func.func @uneven
// CHECK: custom_call @ragged_all_to_all
func.func @uneven(%x: tensor<9xf32>, %y: tensor<7xf32>, %n: tensor<3xi32>) -> tensor<7xf32> {
  %0 = stablehlo.custom_call @ragged_all_to_all(%x, %y, %n, %n, %n, %n) {api_version = 4 : i32, backend_config = {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<9xf32>, tensor<7xf32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}
