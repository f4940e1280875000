// Who joins whom.
// RUN: isthmus-opt %s -fuse | FileCheck %s

// Softmax is one kernel: the row is read again while it is in cache.
// CHECK-LABEL: @softmax
// CHECK-COUNT-1: "isthmus.fusion"(
// CHECK-NOT: isthmus.fusion
// CHECK: return
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x128xf32>
  %e = stablehlo.exponential %d : tensor<64x128xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
  %r = stablehlo.divide %e, %sb : tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// A row of 4 MB does not stay in cache: reductions are kernels of their own.
// CHECK-LABEL: @long_rows
// CHECK: "isthmus.fusion"(
// CHECK: stablehlo.reduce
// CHECK: "isthmus.fusion"(
// CHECK-NOT: stablehlo.reduce
// CHECK: return
func.func @long_rows(%x: tensor<64x1048576xf32>) -> tensor<64x1048576xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x1048576xf32>, tensor<f32>) -> tensor<64xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x1048576xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x1048576xf32>
  return %d : tensor<64x1048576xf32>
}

// Columns of an array are read where they are used, and what is computed from them is one kernel.
// CHECK-LABEL: @columns
// CHECK-COUNT-1: "isthmus.fusion"(%arg0)
// CHECK-NOT: isthmus.fusion"
// CHECK: return
func.func @columns(%x: tensor<64x3xf32>) -> tensor<64xf32> {
  %a = stablehlo.slice %x [0:64, 0:1] : (tensor<64x3xf32>) -> tensor<64x1xf32>
  %b = stablehlo.reshape %a : (tensor<64x1xf32>) -> tensor<64xf32>
  %c = stablehlo.slice %x [0:64, 1:2] : (tensor<64x3xf32>) -> tensor<64x1xf32>
  %d = stablehlo.reshape %c : (tensor<64x1xf32>) -> tensor<64xf32>
  %e = stablehlo.add %b, %d : tensor<64xf32>
  %f = stablehlo.multiply %e, %b : tensor<64xf32>
  return %f : tensor<64xf32>
}

// Two reductions of one array read it once.
// CHECK-LABEL: @two_sums
// CHECK-COUNT-1: "isthmus.fusion"(%arg0
// CHECK-COUNT-2: stablehlo.reduce
// CHECK-NOT: "isthmus.fusion"
// CHECK: return
func.func @two_sums(%x: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  %q = stablehlo.multiply %x, %x : tensor<64x128xf32>
  %b = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
  return %a, %b : tensor<64xf32>, tensor<64xf32>
}

// The exponential and the sum would be one kernel that runs before and after the product.
// CHECK-LABEL: @around_a_product
// CHECK: %[[E:.*]] = "isthmus.fusion"(%arg0)
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[E]], %[[E]]
// CHECK: "isthmus.fusion"(%[[E]], %[[P]])
func.func @around_a_product(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.exponential %x : tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.add %0, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// The update is computed where it lands.
// CHECK-LABEL: @update
// CHECK: "isthmus.fusion"(
// CHECK: stablehlo.negate
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: isthmus.fusion"
// CHECK: return
func.func @update(%x: tensor<64x128xf32>, %u: tensor<1x128xf32>, %i: tensor<i32>) -> tensor<64x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.negate %u : tensor<1x128xf32>
  %r = stablehlo.dynamic_update_slice %x, %n, %i, %zero : (tensor<64x128xf32>, tensor<1x128xf32>, tensor<i32>, tensor<i32>) -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// A large transpose with what reads it, in a kernel that goes by blocks.
// CHECK-LABEL: @transposed
// CHECK-COUNT-1: "isthmus.fusion"(
// CHECK-NOT: isthmus.fusion"
// CHECK: return
func.func @transposed(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
  %r = stablehlo.add %t, %y : tensor<128x128xf32>
  return %r : tensor<128x128xf32>
}

// A broadcast costs nothing: both kernels that need it have their own.
// CHECK-LABEL: @free
// CHECK: isthmus.fusion
// CHECK: stablehlo.broadcast_in_dim
// CHECK: stablehlo.dot_general
// CHECK: isthmus.fusion
// CHECK: stablehlo.broadcast_in_dim
func.func @free(%x: tensor<64x64xf32>, %b: tensor<64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.add %x, %0 : tensor<64x64xf32>
  %2 = stablehlo.dot_general %1, %1, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = stablehlo.multiply %2, %0 : tensor<64x64xf32>
  return %3 : tensor<64x64xf32>
}

// Reductions of the same rows are one kernel, wherever dimensions of size 1 lie.
// CHECK-LABEL: @moved_unit_dimensions
// CHECK-COUNT-1: isthmus.fusion
// CHECK-NOT: isthmus.fusion
// CHECK: return
func.func @moved_unit_dimensions(%x: tensor<4x8x1x64xf32>) -> tensor<4x1x8x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<4x8x1x64xf32>, tensor<f32>) -> tensor<4x8x1xf32>
  %y = stablehlo.reshape %x : (tensor<4x8x1x64xf32>) -> tensor<4x1x8x64xf32>
  %r = stablehlo.reshape %m : (tensor<4x8x1xf32>) -> tensor<4x8xf32>
  %mb = stablehlo.broadcast_in_dim %r, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x1x8x64xf32>
  %d = stablehlo.subtract %y, %mb : tensor<4x1x8x64xf32>
  %e = stablehlo.exponential %d : tensor<4x1x8x64xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<4x1x8x64xf32>, tensor<f32>) -> tensor<4x1x8xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0, 1, 2] : (tensor<4x1x8xf32>) -> tensor<4x1x8x64xf32>
  %q = stablehlo.divide %e, %sb : tensor<4x1x8x64xf32>
  return %q : tensor<4x1x8x64xf32>
}

// All pairwise differences are computed by both kernels from the points, and never stored: only the kernels' results are.
// CHECK-LABEL: @pairwise
// CHECK: "isthmus.fusion"(%arg0)
// CHECK: stablehlo.subtract
// CHECK: -> tensor<256x256xf32>
// CHECK: "isthmus.fusion"(%arg0, {{.*}})
// CHECK: stablehlo.subtract
// CHECK: -> tensor<256x3xf32>
func.func @pairwise(%p: tensor<256x3xf32>) -> tensor<256x3xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rows = stablehlo.broadcast_in_dim %p, dims = [0, 2] : (tensor<256x3xf32>) -> tensor<256x256x3xf32>
  %columns = stablehlo.broadcast_in_dim %p, dims = [1, 2] : (tensor<256x3xf32>) -> tensor<256x256x3xf32>
  %d = stablehlo.subtract %columns, %rows : tensor<256x256x3xf32>
  %squares = stablehlo.multiply %d, %d : tensor<256x256x3xf32>
  %s = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<256x256x3xf32>, tensor<f32>) -> tensor<256x256xf32>
  %r = stablehlo.rsqrt %s : tensor<256x256xf32>
  %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1] : (tensor<256x256xf32>) -> tensor<256x256x3xf32>
  %f = stablehlo.multiply %d, %rb : tensor<256x256x3xf32>
  %a = stablehlo.reduce(%f init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256x3xf32>, tensor<f32>) -> tensor<256x3xf32>
  return %a : tensor<256x3xf32>
}

// What is computed again wherever it is used is not stored for the sake of what is stored.
// CHECK-LABEL: @counters
// CHECK-COUNT-1: "isthmus.fusion"(%arg0)
// CHECK: stablehlo.iota
// CHECK: stablehlo.convert
// CHECK: stablehlo.add
// CHECK-NOT: isthmus.fusion
// CHECK: return
func.func @counters(%key: tensor<i32>) -> tensor<4096xi32> {
  %counter = stablehlo.iota dim = 0 : tensor<4096xi64>
  %low = stablehlo.convert %counter : (tensor<4096xi64>) -> tensor<4096xi32>
  %keys = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<i32>) -> tensor<4096xi32>
  %r = stablehlo.add %low, %keys : tensor<4096xi32>
  return %r : tensor<4096xi32>
}

// An array that only such work reads is still computed.
// CHECK-LABEL: @read_by_what_is_free
// CHECK: "isthmus.fusion"(%arg0, %arg1)
// CHECK: stablehlo.dynamic_slice
// CHECK: isthmus.yield
// CHECK: stablehlo.multiply
// CHECK: return
func.func @read_by_what_is_free(%x: tensor<1000xf32>, %i: tensor<i32>) -> tensor<f32> {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<1000xf32>, tensor<i32>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  %2 = stablehlo.multiply %1, %half : tensor<f32>
  %3 = stablehlo.add %2, %one : tensor<f32>
  return %3 : tensor<f32>
}

// Updates by the same learning rate have nothing else in common: each follows its own product.
// CHECK-LABEL: @updates
// CHECK: "isthmus.fusion"(
// CHECK: isthmus.yield %{{[0-9]+}} :
// CHECK: "isthmus.fusion"(
// CHECK: isthmus.yield %{{[0-9]+}} :
func.func @updates(%v: tensor<64x64xf32>, %w: tensor<64x64xf32>, %x: tensor<8x64xf32>, %y: tensor<8x64xf32>, %z: tensor<8x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %rate = stablehlo.constant dense<0.01> : tensor<64x64xf32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %x, %z, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.multiply %0, %rate : tensor<64x64xf32>
  %3 = stablehlo.multiply %1, %rate : tensor<64x64xf32>
  %4 = stablehlo.subtract %v, %2 : tensor<64x64xf32>
  %5 = stablehlo.subtract %w, %3 : tensor<64x64xf32>
  return %4, %5 : tensor<64x64xf32>, tensor<64x64xf32>
}

// A large array of one number is written when the program runs, not kept with it.
// CHECK-LABEL: @large_splat
// CHECK: "isthmus.fusion"(
// CHECK: %[[C:.*]] = stablehlo.constant dense<1.000000e+00> : tensor<f32>
// CHECK: stablehlo.broadcast_in_dim %[[C]], dims = [] : (tensor<f32>) -> tensor<1x1024x1024x4xf32>
// CHECK: stablehlo.convolution
func.func @large_splat(%k: tensor<3x3x4x4xf32>) -> tensor<1x1022x1022x4xf32> {
  %x = stablehlo.constant dense<1.0> : tensor<1x1024x1024x4xf32>
  %r = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1024x1024x4xf32>, tensor<3x3x4x4xf32>) -> tensor<1x1022x1022x4xf32>
  return %r : tensor<1x1022x1022x4xf32>
}

// Only the places of the largest elements are wanted: the elements are not written.
// CHECK-LABEL: @places_of_the_largest
// CHECK: stablehlo.reduce
// CHECK: isthmus.yield %{{[0-9]+}}#1 : tensor<64xi32>
func.func @places_of_the_largest(%x: tensor<64x32xf32>) -> tensor<64xi32> {
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %place = stablehlo.iota dim = 1 : tensor<64x32xi32>
  %r:2 = stablehlo.reduce(%x init: %least), (%place init: %zero) across dimensions = [1] : (tensor<64x32xf32>, tensor<64x32xi32>, tensor<f32>, tensor<i32>) -> (tensor<64xf32>, tensor<64xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %greater = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %value = stablehlo.select %greater, %a, %b : tensor<i1>, tensor<f32>
    %index = stablehlo.select %greater, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %value, %index : tensor<f32>, tensor<i32>
  }
  return %r#1 : tensor<64xi32>
}

// Two reductions of one argument are one kernel, as those of a result are.
// CHECK-LABEL: @statistics_of_an_argument
// CHECK: isthmus.fusion
// CHECK-NOT: isthmus.fusion
// CHECK: return
func.func @statistics_of_an_argument(%x: tensor<64x128x32xf32>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  %1 = stablehlo.multiply %x, %x : tensor<64x128x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128x32xf32>, tensor<f32>) -> tensor<64x32xf32>
  return %0, %2 : tensor<64x32xf32>, tensor<64x32xf32>
}
