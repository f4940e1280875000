// RUN: isthmus-opt %s -sum-vector-products -split-input-file | FileCheck %s

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

// Not a matrix that is read by something else, was there or meets a matrix.
// CHECK-LABEL: @kept
// CHECK-COUNT-3: stablehlo.dot_general
func.func @kept(%x: tensor<50x50xf32>, %y: tensor<50xf32>) -> (tensor<50x50xf32>, tensor<50xf32>, tensor<50xf32>, tensor<50x50xf32>) {
  %0 = stablehlo.exponential %x : tensor<50x50xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50xf32>) -> tensor<50xf32>
  %2 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50xf32>) -> tensor<50xf32>
  %3 = stablehlo.tanh %x : tensor<50x50xf32>
  %4 = stablehlo.dot_general %3, %x, contracting_dims = [1] x [0] : (tensor<50x50xf32>, tensor<50x50xf32>) -> tensor<50x50xf32>
  return %0, %1, %2, %4 : tensor<50x50xf32>, tensor<50xf32>, tensor<50xf32>, tensor<50x50xf32>
}

// -----

// The library has no form for vectors of other types: narrow floats are added in f32.
// CHECK-LABEL: @other_types
// CHECK: %[[H:.*]] = stablehlo.convert %arg0 : {{.*}} -> tensor<50x60xf32>
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[H]]
// CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK: stablehlo.convert %[[SUM]] : (tensor<60xf32>) -> tensor<60xbf16>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0] : (tensor<50xcomplex<f32>>
// CHECK: stablehlo.convert %arg3 : (tensor<9x50xi8>) -> tensor<9x50xi32>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [1] : (tensor<9x50xi32>
// CHECK: stablehlo.reduce({{.*}} across dimensions = [0] : (tensor<50xi1>
// CHECK-NOT: stablehlo.dot_general
func.func @other_types(%h: tensor<50x60xbf16>, %g: tensor<1x50xbf16>, %c: tensor<50xcomplex<f32>>, %i: tensor<9x50xi8>, %j: tensor<50xi8>, %p: tensor<50xi1>) -> (tensor<1x60xbf16>, tensor<complex<f32>>, tensor<9xi32>, tensor<i1>) {
  %0 = stablehlo.dot_general %g, %h, contracting_dims = [1] x [0] : (tensor<1x50xbf16>, tensor<50x60xbf16>) -> tensor<1x60xbf16>
  %1 = stablehlo.dot_general %c, %c, contracting_dims = [0] x [0] : (tensor<50xcomplex<f32>>, tensor<50xcomplex<f32>>) -> tensor<complex<f32>>
  %2 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<9x50xi8>, tensor<50xi8>) -> tensor<9xi32>
  %3 = stablehlo.dot_general %p, %p, contracting_dims = [0] x [0] : (tensor<50xi1>, tensor<50xi1>) -> tensor<i1>
  return %0, %1, %2, %3 : tensor<1x60xbf16>, tensor<complex<f32>>, tensor<9xi32>, tensor<i1>
}

// -----

// Sums that wrap around earlier than the operands' are the library's to refuse or make.
// CHECK-LABEL: @narrower_result
// CHECK: stablehlo.dot_general
func.func @narrower_result(%i: tensor<9x50xi32>, %j: tensor<50xi32>) -> tensor<9xi16> {
  %0 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<9x50xi32>, tensor<50xi32>) -> tensor<9xi16>
  return %0 : tensor<9xi16>
}

// -----

// Vectors that threads share are summed by them.
// CHECK-LABEL: @long_pairs
// CHECK: stablehlo.reduce
// CHECK: stablehlo.dot_general
func.func @long_pairs(%x: tensor<300000xf32>, %y: tensor<3000xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<300000xf32>, tensor<300000xf32>) -> tensor<f32>
  %1 = stablehlo.dot_general %y, %y, contracting_dims = [0] x [0] : (tensor<3000xf32>, tensor<3000xf32>) -> tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// A few vectors of wide types, as rows, meet each row of a large matrix while it is near; the result
// has the dimensions of the left operand first.
// CHECK-LABEL: @few_vectors
// CHECK: %[[M:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<64x80xcomplex<f32>>) -> tensor<64x3x80xcomplex<f32>>
// CHECK: %[[ROWS:.*]] = stablehlo.transpose %arg1, dims = [1, 0]
// CHECK: %[[V:.*]] = stablehlo.broadcast_in_dim %[[ROWS]], dims = [1, 2] : (tensor<3x80xcomplex<f32>>) -> tensor<64x3x80xcomplex<f32>>
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[M]], %[[V]]
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
// CHECK: %[[SUM:.*]] = stablehlo.reduce({{.*}} across dimensions = [3] : (tensor<5x100x2x30xi32>
// CHECK: stablehlo.transpose %[[SUM]], dims = [0, 2, 1]
// CHECK-NOT: stablehlo.dot_general
func.func @few_vectors(%m: tensor<64x80xcomplex<f32>>, %v: tensor<80x3xcomplex<f32>>, %n: tensor<5x100x30xi32>, %w: tensor<5x2x30xi32>) -> (tensor<64x3xcomplex<f32>>, tensor<5x2x100xi32>) {
  %0 = stablehlo.dot_general %m, %v, contracting_dims = [1] x [0] : (tensor<64x80xcomplex<f32>>, tensor<80x3xcomplex<f32>>) -> tensor<64x3xcomplex<f32>>
  %1 = stablehlo.dot_general %w, %n, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<5x2x30xi32>, tensor<5x100x30xi32>) -> tensor<5x2x100xi32>
  return %0, %1 : tensor<64x3xcomplex<f32>>, tensor<5x2x100xi32>
}

// -----

// Not of columns, which would be read again; not by many vectors, of small matrices, or of types
// that the library has a form for.
// CHECK-LABEL: @few_vectors_kept
// CHECK-COUNT-4: stablehlo.dot_general
func.func @few_vectors_kept(%m: tensor<80x64xcomplex<f32>>, %v: tensor<80x3xcomplex<f32>>, %many: tensor<64x9xcomplex<f32>>, %s: tensor<4x8xi32>, %t: tensor<8x2xi32>, %f: tensor<64x80xf32>, %g: tensor<80x3xf32>) -> (tensor<64x3xcomplex<f32>>, tensor<80x9xcomplex<f32>>, tensor<4x2xi32>, tensor<64x3xf32>) {
  %0 = stablehlo.dot_general %m, %v, contracting_dims = [0] x [0] : (tensor<80x64xcomplex<f32>>, tensor<80x3xcomplex<f32>>) -> tensor<64x3xcomplex<f32>>
  %1 = stablehlo.dot_general %m, %many, contracting_dims = [1] x [0] : (tensor<80x64xcomplex<f32>>, tensor<64x9xcomplex<f32>>) -> tensor<80x9xcomplex<f32>>
  %2 = stablehlo.dot_general %s, %t, contracting_dims = [1] x [0] : (tensor<4x8xi32>, tensor<8x2xi32>) -> tensor<4x2xi32>
  %3 = stablehlo.dot_general %f, %g, contracting_dims = [1] x [0] : (tensor<64x80xf32>, tensor<80x3xf32>) -> tensor<64x3xf32>
  return %0, %1, %2, %3 : tensor<64x3xcomplex<f32>>, tensor<80x9xcomplex<f32>>, tensor<4x2xi32>, tensor<64x3xf32>
}

// -----

// Neighbours in memory are of different products.
// CHECK-LABEL: @interleaved_batch
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<32x16x64xf32>
// CHECK-NOT: stablehlo.dot_general
func.func @interleaved_batch(%x: tensor<64x32xf32>, %w: tensor<32x16x64xf32>) -> tensor<64x16xf32> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [2], contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x16x64xf32>) -> tensor<64x16xf32>
  return %0 : tensor<64x16xf32>
}

// -----

// Rows that fill no vector, which the library would pack.
// CHECK-LABEL: @short_rows
// CHECK-NOT: stablehlo.dot_general
// CHECK: stablehlo.multiply {{.*}} : tensor<20000x3xf32>
// CHECK: stablehlo.reduce
// CHECK: return
func.func @short_rows(%m: tensor<20000x3xf32>, %v: tensor<3x1xf32>) -> tensor<20000x1xf32> {
  %0 = stablehlo.dot_general %m, %v, contracting_dims = [1] x [0] : (tensor<20000x3xf32>, tensor<3x1xf32>) -> tensor<20000x1xf32>
  return %0 : tensor<20000x1xf32>
}
