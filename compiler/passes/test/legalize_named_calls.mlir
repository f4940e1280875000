// RUN: isthmus-opt %s -legalize-ops | FileCheck %s
// Operations that a converter had to write as calls of their names.

// CHECK-LABEL: func.func @erf
// CHECK-NOT: custom_call
// CHECK: chlo.erf %arg0
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @mhlo.erf(%x) {mhlo.attributes = {}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The smallest ones are no operation of chlo.
// CHECK-LABEL: func.func @smallest
// CHECK: custom_call @mhlo.topk
func.func @smallest(%x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}

// CHECK-LABEL: func.func @wrong
// CHECK: custom_call @mhlo.erf
func.func @wrong(%x: tensor<4xf32>) -> tensor<5xf32> {
  %0 = stablehlo.custom_call @mhlo.erf(%x) : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// (Its dialect is loaded for this.)
func.func @load(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
