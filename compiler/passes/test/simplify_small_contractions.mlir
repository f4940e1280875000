// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// The contracted index is outermost: its terms are added one after the other.
// CHECK-LABEL: @few_complex_products
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<3x2x4x5xcomplex<f32>>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
func.func @few_complex_products(%x: tensor<4x3x2xcomplex<f32>>, %y: tensor<2x3x5xcomplex<f32>>) -> tensor<2x4x5xcomplex<f32>> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<4x3x2xcomplex<f32>>, tensor<2x3x5xcomplex<f32>>) -> tensor<2x4x5xcomplex<f32>>
  return %0 : tensor<2x4x5xcomplex<f32>>
}

// -----

// Terms that lie side by side stay there.
// CHECK-LABEL: @few_terms
// CHECK-NOT: transpose
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %arg0, %{{.*}} : tensor<1000x3xf32>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
func.func @few_terms(%x: tensor<1000x3xf32>, %y: tensor<3xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1000x3xf32>, tensor<3xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// -----

// CHECK-LABEL: @few_terms_of_columns
// CHECK-NOT: transpose
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<3x1000xf32>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
func.func @few_terms_of_columns(%x: tensor<3xf32>, %y: tensor<3x1000xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3x1000xf32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}

// -----

// Rows of a batch, and the vector first.
// CHECK-LABEL: @few_terms_in_batches
// CHECK: %[[X:.*]] = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<5x3xf32>) -> tensor<5x1000x3xf32>
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %[[X]], %arg1 : tensor<5x1000x3xf32>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [2]
func.func @few_terms_in_batches(%x: tensor<5x3xf32>, %y: tensor<5x1000x3xf32>) -> tensor<5x1000xf32> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [2] : (tensor<5x3xf32>, tensor<5x1000x3xf32>) -> tensor<5x1000xf32>
  return %0 : tensor<5x1000xf32>
}

// -----

// Products of bf16 are added in f32, those of integers as they are.
// CHECK-LABEL: @narrow_types
// CHECK-DAG: %[[X:.*]] = stablehlo.convert %arg0 : {{.*}} -> tensor<1000x3xf32>
// CHECK-DAG: %[[Y:.*]] = stablehlo.convert %arg1 : {{.*}} -> tensor<3xf32>
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<1000x3xf32>
// CHECK: %[[SUM:.*]] = stablehlo.reduce{{.*}} across dimensions = [1] : (tensor<1000x3xf32>
// CHECK: stablehlo.convert %[[SUM]] : (tensor<1000xf32>) -> tensor<1000xbf16>
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<2x70x70xi32>
// CHECK-NOT: dot_general
func.func @narrow_types(%x: tensor<1000x3xbf16>, %y: tensor<3xbf16>, %i: tensor<70x2xi8>, %j: tensor<2x70xui8>) -> (tensor<1000xbf16>, tensor<70x70xi32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<1000x3xbf16>, tensor<3xbf16>) -> tensor<1000xbf16>
  %1 = stablehlo.dot_general %i, %j, contracting_dims = [1] x [0] : (tensor<70x2xi8>, tensor<2x70xui8>) -> tensor<70x70xi32>
  return %0, %1 : tensor<1000xbf16>, tensor<70x70xi32>
}

// -----

// Nothing is added: any number of results, and any type.
// CHECK-LABEL: @products_alone
// CHECK-NOT: dot_general
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<2x3xbf16>
// CHECK: return %{{.*}}, %arg2
func.func @products_alone(%x: tensor<2xbf16>, %y: tensor<3xbf16>, %z: tensor<32xf32>) -> (tensor<2x3xbf16>, tensor<32xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<2xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  %1 = stablehlo.dot_general %one, %z, contracting_dims = [] x [] : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32>
  return %0, %1 : tensor<2x3xbf16>, tensor<32xf32>
}

// -----

// Rows with rows are summed along the row, however many terms; a few long ones are a library's.
// CHECK-LABEL: @pairs_of_vectors
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<100x300xf32>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK: stablehlo.dot_general
func.func @pairs_of_vectors(%x: tensor<100x300xf32>, %y: tensor<300x100xf32>, %z: tensor<300xf32>) -> (tensor<100xf32>, tensor<f32>) {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<100x300xf32>, tensor<300x100xf32>) -> tensor<100xf32>
  %1 = stablehlo.dot_general %z, %z, contracting_dims = [0] x [0] : (tensor<300xf32>, tensor<300xf32>) -> tensor<f32>
  return %0, %1 : tensor<100xf32>, tensor<f32>
}

// -----

// A gate on one qubit of twenty: few terms of complex numbers, for any number of results.
// CHECK-LABEL: @gate
// CHECK: %[[PRODUCT:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<2x2x512x1024xcomplex<f32>>
// CHECK: stablehlo.reduce(%[[PRODUCT]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
func.func @gate(%gate: tensor<2x2xcomplex<f32>>, %state: tensor<512x2x1024xcomplex<f32>>) -> tensor<2x512x1024xcomplex<f32>> {
  %0 = stablehlo.dot_general %gate, %state, contracting_dims = [1] x [1] : (tensor<2x2xcomplex<f32>>, tensor<512x2x1024xcomplex<f32>>) -> tensor<2x512x1024xcomplex<f32>>
  return %0 : tensor<2x512x1024xcomplex<f32>>
}

// -----

// CHECK-LABEL: @others_stay
// CHECK-COUNT-2: stablehlo.dot_general
func.func @others_stay(%x: tensor<8x8xcomplex<f32>>, %y: tensor<9x8xcomplex<f32>>, %z: tensor<2x2xf32>) -> (tensor<8x9xcomplex<f32>>, tensor<2x2xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<8x8xcomplex<f32>>, tensor<9x8xcomplex<f32>>) -> tensor<8x9xcomplex<f32>>
  %1 = stablehlo.dot_general %z, %z, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0, %1 : tensor<8x9xcomplex<f32>>, tensor<2x2xf32>
}

// -----

// In a loop, products of a few elements are not worth a call.
// CHECK-LABEL: @tiny_in_a_loop
// CHECK: stablehlo.while
// CHECK: stablehlo.reduce
// CHECK: stablehlo.dot_general
func.func @tiny_in_a_loop(%i: tensor<i32>, %x: tensor<2x2xf32>, %y: tensor<9x9xf32>) -> (tensor<i32>, tensor<2x2xf32>, tensor<9x9xf32>) {
  %0:3 = stablehlo.while(%a = %i, %b = %x, %c = %y) : tensor<i32>, tensor<2x2xf32>, tensor<9x9xf32>
  cond {
    %n = stablehlo.constant dense<9> : tensor<i32>
    %1 = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %a, %a : tensor<i32>
    %2 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = stablehlo.dot_general %c, %c, contracting_dims = [1] x [0] : (tensor<9x9xf32>, tensor<9x9xf32>) -> tensor<9x9xf32>
    stablehlo.return %1, %2, %3 : tensor<i32>, tensor<2x2xf32>, tensor<9x9xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<i32>, tensor<2x2xf32>, tensor<9x9xf32>
}

// -----

// The first product comes in the order in which the second reads it.
// CHECK-LABEL: @bilinear_form
// CHECK: %[[XM:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}} -> tensor<1000x64xf32>
// CHECK: stablehlo.multiply %arg0, %[[XM]]
func.func @bilinear_form(%x: tensor<1000x64xf32>, %m: tensor<64x64xf32>) -> tensor<1000xf32> {
  %0 = stablehlo.dot_general %m, %x, contracting_dims = [0] x [1] : (tensor<64x64xf32>, tensor<1000x64xf32>) -> tensor<64x1000xf32>
  %1 = stablehlo.dot_general %x, %0, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<1000x64xf32>, tensor<64x1000xf32>) -> tensor<1000xf32>
  return %1 : tensor<1000xf32>
}

// -----

// Small matrices of bytes, of which the library would pack each.
// CHECK-LABEL: @many_products_of_bytes
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<8x100x8x8xi8>
// CHECK: stablehlo.reduce
// CHECK-NOT: dot_general
func.func @many_products_of_bytes(%x: tensor<100x8x8xi8>, %y: tensor<100x8x8xi8>) -> tensor<100x8x8xi8> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<100x8x8xi8>, tensor<100x8x8xi8>) -> tensor<100x8x8xi8>
  return %0 : tensor<100x8x8xi8>
}

// -----

// Of bf16 the terms are added in f32.
// CHECK-LABEL: @many_products_of_bfloats
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<6x100x6x6xf32>
// CHECK-NOT: dot_general
func.func @many_products_of_bfloats(%x: tensor<100x6x6xbf16>, %y: tensor<100x6x6xbf16>) -> tensor<100x6x6xbf16> {
  %0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<100x6x6xbf16>, tensor<100x6x6xbf16>) -> tensor<100x6x6xbf16>
  return %0 : tensor<100x6x6xbf16>
}

// -----

// CHECK-LABEL: @one_product_of_bytes
// CHECK: dot_general
func.func @one_product_of_bytes(%x: tensor<16x16xi8>, %y: tensor<16x16xi8>) -> tensor<16x16xi8> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x16xi8>, tensor<16x16xi8>) -> tensor<16x16xi8>
  return %0 : tensor<16x16xi8>
}
