// RUN: isthmus-opt %s --entry-layouts | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<3x2xf32> {isthmus.layout = array<i64: 0, 1>}
// CHECK-SAME: %[[Y:.*]]: tensor<2x3xf32>
// CHECK-SAME: -> (tensor<2x3xf32>, tensor<4x3x2xf32> {isthmus.layout = array<i64: 1, 0, 2>}, tensor<3x2xf32> {isthmus.layout = array<i64: 0, 1>})
func.func @main(%x: tensor<2x3xf32> {mhlo.layout_mode = "{0,1}"},
                %y: tensor<2x3xf32> {mhlo.layout_mode = "auto"},
                %z: tensor<2x3x4xf32> {mhlo.layout_mode = "{2,1,0}"})
    -> (tensor<2x3xf32> {mhlo.layout_mode = "default"},
        tensor<3x2x4xf32> {mhlo.layout_mode = "{1,0,2}"},
        tensor<2x3xf32> {mhlo.layout_mode = "auto"}) {
  // CHECK: %[[X:.*]] = stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.add %[[X]], %[[Y]]
  %sum = stablehlo.add %x, %y : tensor<2x3xf32>
  %w = stablehlo.transpose %z, dims = [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %u = stablehlo.reshape %sum : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %t = stablehlo.transpose %u, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [2, 0, 1] : (tensor<3x2x4xf32>) -> tensor<4x3x2xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %sum, %w, %t : tensor<2x3xf32>, tensor<3x2x4xf32>, tensor<2x3xf32>
}
