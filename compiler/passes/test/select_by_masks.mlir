// What is multiplied by a mask is selected by it: NaN and infinity outside of it become zero.
// RUN: isthmus-opt %s -select-by-masks | FileCheck %s

// CHECK-LABEL: @masked
// CHECK: [[ZEROS:%[a-z0-9_]+]] = stablehlo.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: stablehlo.select %arg1, %arg0, [[ZEROS]]
// CHECK-NOT: stablehlo.multiply
func.func @masked(%x: tensor<4xf32>, %mask: tensor<4xi1>) -> tensor<4xf32> {
  %0 = stablehlo.convert %mask : (tensor<4xi1>) -> tensor<4xf32>
  %1 = stablehlo.multiply %0, %x : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @complex
// CHECK: stablehlo.select %arg1, %arg0,
// CHECK-NOT: stablehlo.multiply
func.func @complex(%x: tensor<4xcomplex<f32>>, %mask: tensor<4xi1>) -> tensor<4xcomplex<f32>> {
  %0 = stablehlo.convert %mask : (tensor<4xi1>) -> tensor<4xcomplex<f32>>
  %1 = stablehlo.multiply %x, %0 : tensor<4xcomplex<f32>>
  return %1 : tensor<4xcomplex<f32>>
}

// Neither integers, which have no NaN, nor other conversions.
// CHECK-LABEL: @others
// CHECK-COUNT-2: stablehlo.multiply
func.func @others(%x: tensor<4xi32>, %y: tensor<4xf32>, %mask: tensor<4xi1>) -> (tensor<4xi32>, tensor<4xf32>) {
  %0 = stablehlo.convert %mask : (tensor<4xi1>) -> tensor<4xi32>
  %1 = stablehlo.multiply %x, %0 : tensor<4xi32>
  %2 = stablehlo.convert %0 : (tensor<4xi32>) -> tensor<4xf32>
  %3 = stablehlo.multiply %y, %2 : tensor<4xf32>
  return %1, %3 : tensor<4xi32>, tensor<4xf32>
}
