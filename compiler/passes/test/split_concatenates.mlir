// RUN: isthmus-opt %s -split-concatenates=most=3 | FileCheck %s

// Seven are three groups, in their order.
// CHECK-LABEL: @seven
// CHECK: %[[A:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 1 : (tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x3xf32>
// CHECK: %[[B:.*]] = stablehlo.concatenate %arg0, %arg1, dim = 1
// CHECK: %[[C:.*]] = stablehlo.concatenate %arg1, %arg1, %arg0, dim = 1 : {{.*}} -> tensor<2x5xf32>
// CHECK: stablehlo.concatenate %[[A]], %[[B]], %[[C]], dim = 1 : {{.*}} -> tensor<2x11xf32>
func.func @seven(%x: tensor<2x1xf32>, %y: tensor<2x2xf32>) -> tensor<2x11xf32> {
  %0 = stablehlo.concatenate %x, %y, %x, %y, %y, %y, %x, dim = 1 : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x11xf32>
  return %0 : tensor<2x11xf32>
}

// Groups of groups.
// CHECK-LABEL: @ten
// CHECK-COUNT-6: stablehlo.concatenate
// CHECK: stablehlo.concatenate %{{[0-9]+}}, %{{[0-9]+}}, dim = 0 : {{.*}} -> tensor<10xf32>
func.func @ten(%x: tensor<1xf32>) -> tensor<10xf32> {
  %0 = stablehlo.concatenate %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}

// CHECK-LABEL: @three
// CHECK-COUNT-1: stablehlo.concatenate
// CHECK-NOT: stablehlo.concatenate
func.func @three(%x: tensor<1xf32>) -> tensor<3xf32> {
  %0 = stablehlo.concatenate %x, %x, %x, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
