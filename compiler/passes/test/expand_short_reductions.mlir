// RUN: isthmus-opt %s -split-reductions -expand-short-reductions | FileCheck %s

// What another reduction reads is added where it is read.
// CHECK-LABEL: @energy
// CHECK: %[[S:.*]] = stablehlo.multiply %arg1, %arg1 : tensor<5000x3xf32>
// CHECK-COUNT-3: stablehlo.slice %[[S]]
// CHECK: %[[V:.*]] = stablehlo.add
// CHECK: %[[E:.*]] = stablehlo.multiply %arg0, %[[V]] : tensor<5000xf32>
// CHECK: stablehlo.reduce(%[[E]]
// CHECK-NOT: stablehlo.reduce
func.func @energy(%m: tensor<5000xf32>, %v: tensor<5000x3xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %v, %v : tensor<5000x3xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5000x3xf32>, tensor<f32>) -> tensor<5000xf32>
  %2 = stablehlo.multiply %m, %1 : tensor<5000xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5000xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// A long one is split first, and the rows are cut where it is.
// CHECK-LABEL: @long
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<1000000x2xf32>) -> tensor<64x15625x2xf32>
// CHECK-COUNT-2: stablehlo.slice %[[X]]
// CHECK: stablehlo.reduce({{.*}} across dimensions = [1] : (tensor<64x15625xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
func.func @long(%x: tensor<1000000x2xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1000000x2xf32>, tensor<f32>) -> tensor<1000000xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<1000000xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1000000xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// Not where it is a result, is long, or the initial value counts.
// CHECK-LABEL: @kept
// CHECK-NOT: stablehlo.slice
func.func @kept(%x: tensor<5000x3xf32>, %y: tensor<500x30xf32>) -> (tensor<f32>, tensor<5000xf32>, tensor<f32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<5000x3xf32>, tensor<f32>) -> tensor<5000xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5000xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<500x30xf32>, tensor<f32>) -> tensor<500xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<500xf32>, tensor<f32>) -> tensor<f32>
  %4 = stablehlo.reduce(%x init: %two) applies stablehlo.add across dimensions = [1] : (tensor<5000x3xf32>, tensor<f32>) -> tensor<5000xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5000xf32>, tensor<f32>) -> tensor<f32>
  return %1, %0, %3, %5 : tensor<f32>, tensor<5000xf32>, tensor<f32>, tensor<f32>
}

// Forces between all pairs: coordinates have sums of their own, which share the distance.
// CHECK-LABEL: @forces
// CHECK-NOT: tensor<128x128x3xf32>
// CHECK: %[[R:.*]] = stablehlo.rsqrt {{.*}} : tensor<128x128xf32>
// CHECK-COUNT-3: stablehlo.multiply {{.*}}, %[[R]] : tensor<128x128xf32>
// CHECK: :3 = stablehlo.reduce({{.*}} across dimensions = [1]
// CHECK-COUNT-3: stablehlo.add {{.*}} : tensor<f32>
// CHECK-NOT: stablehlo.reduce
// CHECK: stablehlo.concatenate {{.*}} -> tensor<128x3xf32>
func.func @forces(%x: tensor<128x3xf32>) -> tensor<128x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %soft = stablehlo.constant dense<0.01> : tensor<128x128x1xf32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<128x3xf32>) -> tensor<128x128x3xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<128x3xf32>) -> tensor<128x128x3xf32>
  %2 = stablehlo.subtract %0, %1 : tensor<128x128x3xf32>
  %3 = stablehlo.multiply %2, %2 : tensor<128x128x3xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<128x128x3xf32>, tensor<f32>) -> tensor<128x128xf32>
  %5 = stablehlo.reshape %4 : (tensor<128x128xf32>) -> tensor<128x128x1xf32>
  %6 = stablehlo.add %5, %soft : tensor<128x128x1xf32>
  %7 = stablehlo.rsqrt %6 : tensor<128x128x1xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<128x128x1xf32>) -> tensor<128x128x3xf32>
  %9 = stablehlo.multiply %2, %8 : tensor<128x128x3xf32>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x128x3xf32>, tensor<f32>) -> tensor<128x3xf32>
  return %10 : tensor<128x3xf32>
}

// But not where the distances are a result, too.
// CHECK-LABEL: @kept_distances
// CHECK-NOT: stablehlo.slice
func.func @kept_distances(%d: tensor<128x128x3xf32>) -> (tensor<128x3xf32>, tensor<128x128xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<128x128x3xf32>, tensor<f32>) -> tensor<128x128xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<128x128xf32>) -> tensor<128x128x3xf32>
  %2 = stablehlo.multiply %d, %1 : tensor<128x128x3xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<128x128x3xf32>, tensor<f32>) -> tensor<128x3xf32>
  return %3, %0 : tensor<128x3xf32>, tensor<128x128xf32>
}
