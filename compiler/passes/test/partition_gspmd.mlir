// GSPMD's shardings: of parameters and results, in constraints, and around code for one device.
// RUN: isthmus-opt %s -partition=num-partitions=4 -split-input-file -verify-diagnostics | FileCheck %s

// Tiles of four devices in each order that says the same: no data moves.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x6xf32>
// CHECK-SAME: tensor<2x6xf32>
// CHECK-SAME: tensor<4x6xf32>
// CHECK-SAME: -> (tensor<4x6xf32>
// CHECK-NOT: all_gather
// CHECK: return
func.func @main(%a: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
                %b: tensor<8x6xf32> {mhlo.sharding = "{devices=[4,1]<=[2,2]T(1,0)}"},
                %c: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]0,1,2,3 last_tile_dims={replicated}}"})
    -> (tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[2,2] last_tile_dim_replicate}"},
        tensor<8x6xf32> {mhlo.sharding = "{devices=[4,1]0,2,1,3}"}) {
  %0 = stablehlo.add %a, %c : tensor<8x6xf32>
  return %0, %b : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// A constraint gathers what it has whole; one that is left open does not.
// CHECK-LABEL: func.func @main
// CHECK: "stablehlo.all_gather"(%arg0) {{.*}}all_gather_dim = 1
// CHECK-NOT: all_gather
// CHECK: return %{{.*}}, %arg0
func.func @main(%a: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = stablehlo.custom_call @Sharding(%a) {backend_config = "", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}
    : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.custom_call @Sharding(%a) {backend_config = "unspecified_dims=[0,1]", mhlo.sharding = "{replicated}"}
    : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}

// -----

// Blocks inside of the borders are values of one device's program.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%arg0: tensor<4x6xf32>
// CHECK-SAME: -> (tensor<4x6xf32>
// CHECK-NEXT: %[[S:.*]] = stablehlo.sine %arg0 : tensor<4x6xf32>
// CHECK-NEXT: return %[[S]]
func.func @main(%a: tensor<8x6xf32> {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}) -> tensor<8x6xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}
    : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8x6xf32>) -> tensor<4x6xf32>
  %2 = stablehlo.sine %1 : tensor<4x6xf32>
  %3 = stablehlo.custom_call @Sharding(%2) {mhlo.sharding = "{manual}"} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = stablehlo.custom_call @SPMDShardToFullShape(%3) {mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}
    : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return %4 : tensor<8x6xf32>
}

// -----

// Tiles that no axes of the given mesh make are read device by device.
// CHECK-LABEL: func.func @main
// CHECK-SAME: isthmus.sharding = "\08\03\1A\01\04\22\04\03\01\00\02"
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]3,1,0,2}"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// -----

// expected-error@+1 {{is no sharding of 4 devices for an array of rank 1}}
module {
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}

// -----

// expected-error@+1 {{is no sharding of 4 devices for an array of rank 1}}
module {
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]0,1,1,3}"}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}

// -----

// expected-error@+1 {{does not give the type of its operand's block}}
module {
  func.func @main(%a: tensor<8xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// What a sharding says of the result was taken to be of the operand too.
// expected-error@+1 {{@Sharding does not give the type of its operand: got tensor<8xf32> and tensor<4x2xf32>}}
module {
  func.func @main(%a: tensor<8xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// expected-error@+1 {{@SPMDShardToFullShape does not give the type of its operand}}
module {
  func.func @main(%a: tensor<8x8xf32>) -> tensor<f32> {
    %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2,2]<=[4]}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{replicated}"} : (tensor<8x8xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
