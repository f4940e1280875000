// RUN: isthmus-opt %s -sum-computed-matrices -split-input-file | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: %[[M:.*]] = stablehlo.exponential
// CHECK: %[[V:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1] : (tensor<400xf32>) -> tensor<500x400xf32>
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[M]], %[[V]]
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NOT: stablehlo.dot_general
func.func @rows(%x: tensor<500x400xf32>, %y: tensor<400xf32>) -> tensor<500xf32> {
  %0 = stablehlo.exponential %x : tensor<500x400xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<500x400xf32>, tensor<400xf32>) -> tensor<500xf32>
  return %1 : tensor<500xf32>
}

// -----

// The vector first, and both with a dimension of size 1.
// CHECK-LABEL: @columns
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<500x400xf32>
// CHECK: -> tensor<1x400xf32>
// CHECK-NOT: stablehlo.dot_general
func.func @columns(%x: tensor<500x400xi8>, %y: tensor<1x500xf32>) -> tensor<1x400xf32> {
  %0 = stablehlo.convert %x : (tensor<500x400xi8>) -> tensor<500x400xf32>
  %1 = stablehlo.dot_general %y, %0, contracting_dims = [1] x [0] : (tensor<1x500xf32>, tensor<500x400xf32>) -> tensor<1x400xf32>
  return %1 : tensor<1x400xf32>
}

// -----

// A batch that is not the matrix's first dimension is the result's.
// CHECK-LABEL: @batch
// CHECK: %[[V:.*]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2] : (tensor<7x30xf32>) -> tensor<20x7x30xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK: stablehlo.transpose %[[SUM]], dims = [1, 0]
func.func @batch(%x: tensor<20x7x30xf32>, %y: tensor<7x30xf32>) -> tensor<7x20xf32> {
  %0 = stablehlo.exponential %x : tensor<20x7x30xf32>
  %1 = stablehlo.dot_general %0, %y, batching_dims = [1] x [0], contracting_dims = [2] x [1] : (tensor<20x7x30xf32>, tensor<7x30xf32>) -> tensor<7x20xf32>
  return %1 : tensor<7x20xf32>
}

// -----

// Not a matrix that is read by something else, was there, meets a matrix or is narrow.
// CHECK-LABEL: @kept
// CHECK-COUNT-4: stablehlo.dot_general
func.func @kept(%x: tensor<50x50xf32>, %y: tensor<50xf32>, %h: tensor<50x50xbf16>, %g: tensor<50xbf16>) -> (tensor<50x50xf32>, tensor<50xf32>, tensor<50xf32>, tensor<50x50xf32>, tensor<50xbf16>) {
  %0 = stablehlo.exponential %x : tensor<50x50xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50xf32>) -> tensor<50xf32>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50xf32>) -> tensor<50xf32>
  %3 = stablehlo.tanh %x : tensor<50x50xf32>
  %4 = stablehlo.dot_general %3, %x, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50x50xf32>) -> tensor<50x50xf32>
  %5 = stablehlo.tanh %h : tensor<50x50xbf16>
  %6 = stablehlo.dot_general %5, %g, contracting_dims = [1] x [0] : (tensor<50x50xbf16>, tensor<50xbf16>) -> tensor<50xbf16>
  return %0, %1, %2, %4, %6 : tensor<50x50xf32>, tensor<50xf32>, tensor<50xf32>, tensor<50x50xf32>, tensor<50xbf16>
}
