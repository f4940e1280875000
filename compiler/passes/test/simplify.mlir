// RUN: isthmus-opt %s -simplify | FileCheck %s

// CHECK-LABEL: @transpose_of_transpose
// CHECK-NEXT: return %arg0
func.func @transpose_of_transpose(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// The contraction reads the operand as it lies.
// CHECK-LABEL: @transposed_operand
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1]
func.func @transposed_operand(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = stablehlo.transpose %y, dims = [1, 0] : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// x * 1 is x to the bit. x + 0 is not, where x is -0; x * 0 is not 0, where x is infinite.
// CHECK-LABEL: @identities
// CHECK-DAG: %[[SUM:.*]] = stablehlo.add %arg0
// CHECK-DAG: %[[PRODUCT:.*]] = stablehlo.multiply %arg0
// CHECK: return %arg0, %[[SUM]], %[[PRODUCT]]
func.func @identities(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %0 = stablehlo.multiply %x, %one : tensor<4xf32>
  %1 = stablehlo.add %x, %zero : tensor<4xf32>
  %2 = stablehlo.multiply %x, %zero : tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @reshape_of_reshape
// CHECK-NEXT: stablehlo.reshape %arg0 : (tensor<6xf32>) -> tensor<3x2xf32>
func.func @reshape_of_reshape(%x: tensor<6xf32>) -> tensor<3x2xf32> {
  %0 = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// Elements 3, 5, 7.
// CHECK-LABEL: @slice_of_slice
// CHECK-NEXT: stablehlo.slice %arg0 [3:8:2]
func.func @slice_of_slice(%x: tensor<10xf32>) -> tensor<3xf32> {
  %0 = stablehlo.slice %x [2:9] : (tensor<10xf32>) -> tensor<7xf32>
  %1 = stablehlo.slice %0 [1:7:2] : (tensor<7xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// Of what is joined the array that the slice is of; of two, what it has of both.
// CHECK-LABEL: @slice_of_joined
// CHECK-NEXT: %[[PART:.*]] = stablehlo.slice %arg1 [0:2, 1:6:2]
// CHECK-NEXT: %[[END:.*]] = stablehlo.slice %arg0 [0:2, 2:3]
// CHECK-NEXT: %[[BEGIN:.*]] = stablehlo.slice %arg1 [0:2, 0:2]
// CHECK-NEXT: %[[BOTH:.*]] = stablehlo.concatenate %[[END]], %[[BEGIN]], dim = 1
// CHECK-NEXT: return %[[PART]], %[[BOTH]], %arg0
func.func @slice_of_joined(%x: tensor<2x3xf32>, %y: tensor<2x6xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<2x3xf32>, tensor<2x6xf32>) -> tensor<2x9xf32>
  %1 = stablehlo.slice %0 [0:2, 4:9:2] : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %2 = stablehlo.slice %0 [0:2, 2:5] : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %3 = stablehlo.slice %0 [0:2, 0:3] : (tensor<2x9xf32>) -> tensor<2x3xf32>
  return %1, %2, %3 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// A start past the end is moved back: 9 becomes 7.
// CHECK-LABEL: @known_dynamic_slice
// CHECK-NEXT: stablehlo.slice %arg0 [7:10]
func.func @known_dynamic_slice(%x: tensor<10xf32>) -> tensor<3xf32> {
  %start = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %start, sizes = [3] : (tensor<10xf32>, tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @known_branch
// CHECK-NEXT: stablehlo.sine %arg0
// CHECK-NEXT: return
func.func @known_branch(%x: tensor<f32>) -> tensor<f32> {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.sine %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    %1 = stablehlo.cosine %x : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}

// What a loop never changes is read from outside; what nobody reads is not carried.
// CHECK-LABEL: @carried_values
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ]*}}, %[[S:.*]] = %arg0) : tensor<i32>, tensor<f32>
// CHECK-NOT: negate
// CHECK: stablehlo.multiply %[[S]], %arg0
func.func @carried_values(%x: tensor<f32>, %n: tensor<i32>, %unused: tensor<f32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %k = %x, %s = %x, %u = %unused) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.multiply %s, %k : tensor<f32>
    %v = stablehlo.negate %u : tensor<f32>
    stablehlo.return %j, %k, %t, %v : tensor<i32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %r#2 : tensor<f32>
}

// Carried values that begin and go on alike are one; those that go on differently are not.
// CHECK-LABEL: @equal_carried_values
// CHECK: stablehlo.while(%[[I:[^ ]*]] = %{{[^ ]*}}, %[[X:[^ ]*]] = %arg0, %[[Y:[^ ]*]] = %arg0) : tensor<i32>, tensor<f32>, tensor<f32>
// CHECK: %[[NEXT:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<i32>
// CHECK-NOT: : tensor<i32>
// CHECK: stablehlo.return %[[NEXT]], %{{.*}}, %{{.*}} : tensor<i32>, tensor<f32>, tensor<f32>
func.func @equal_carried_values(%x: tensor<f32>, %n: tensor<i32>) -> (tensor<f32>, tensor<f32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:4 = stablehlo.while(%i = %zero, %k = %zero, %s = %x, %t = %x) : tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %l = stablehlo.add %k, %one : tensor<i32>
    %f = stablehlo.convert %k : (tensor<i32>) -> tensor<f32>
    %u = stablehlo.multiply %s, %f : tensor<f32>
    %v = stablehlo.add %t, %f : tensor<f32>
    stablehlo.return %j, %l, %u, %v : tensor<i32>, tensor<i32>, tensor<f32>, tensor<f32>
  }
  return %r#2, %r#3, %r#1 : tensor<f32>, tensor<f32>, tensor<i32>
}

// A reduction over a dimension of size 1 combines each element with the initial value.
// CHECK-LABEL: @reduce_of_one
// CHECK-NOT: stablehlo.reduce(
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0
// CHECK: %[[SUM:.*]] = stablehlo.add %[[X]], {{.*}} : tensor<3xf32>
// CHECK: return %[[SUM]]
func.func @reduce_of_one(%x: tensor<3x1xf32>) -> tensor<3xf32> {
  %five = stablehlo.constant dense<5.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %five) applies stablehlo.add across dimensions = [1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: @reverse_of_iota
// CHECK-DAG: %[[LAST:.*]] = stablehlo.constant dense<7> : tensor<3x8xui8>
// CHECK-DAG: %[[I:.*]] = stablehlo.iota dim = 1 : tensor<3x8xui8>
// CHECK: %[[DOWN:.*]] = stablehlo.subtract %[[LAST]], %[[I]] : tensor<3x8xui8>
// CHECK: return %[[DOWN]], %[[I]] :
func.func @reverse_of_iota() -> (tensor<3x8xui8>, tensor<3x8xui8>) {
  %i = stablehlo.iota dim = 1 : tensor<3x8xui8>
  %r = stablehlo.reverse %i, dims = [0, 1] : tensor<3x8xui8>
  %s = stablehlo.reverse %i, dims = [0] : tensor<3x8xui8>
  return %r, %s : tensor<3x8xui8>, tensor<3x8xui8>
}

// Types without some of the numbers on the way.
// CHECK-LABEL: @reverse_of_rounded_iota
// CHECK-COUNT-2: stablehlo.reverse
func.func @reverse_of_rounded_iota() -> (tensor<300xi8>, tensor<300xbf16>) {
  %i = stablehlo.iota dim = 0 : tensor<300xi8>
  %r = stablehlo.reverse %i, dims = [0] : tensor<300xi8>
  %f = stablehlo.iota dim = 0 : tensor<300xbf16>
  %s = stablehlo.reverse %f, dims = [0] : tensor<300xbf16>
  return %r, %s : tensor<300xi8>, tensor<300xbf16>
}

// The operand is a hundredth of the product: it is transposed instead.
// CHECK-LABEL: @transposed_product
// CHECK: %[[Q:.*]] = stablehlo.transpose %arg1, dims = [0, 3, 2, 1, 4] : (tensor<2x512x3x4x8xf32>) -> tensor<2x4x3x512x8xf32>
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[Q]], %arg0, batching_dims = [2, 0] x [2, 0], contracting_dims = [4] x [3]
// CHECK-SAME: -> tensor<3x2x4x512x512xf32>
// CHECK-NEXT: return %[[D]]
func.func @transposed_product(%k: tensor<2x512x3x8xf32>, %q: tensor<2x512x3x4x8xf32>) -> tensor<3x2x4x512x512xf32> {
  %0 = stablehlo.dot_general %k, %q, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4] : (tensor<2x512x3x8xf32>, tensor<2x512x3x4x8xf32>) -> tensor<2x3x512x512x4xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0, 4, 3, 2] : (tensor<2x3x512x512x4xf32>) -> tensor<3x2x4x512x512xf32>
  return %1 : tensor<3x2x4x512x512xf32>
}

// A batching dimension comes to lie between the others: the operands change places, and whole rows move.
// CHECK-LABEL: @product_of_swapped
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg1, %arg0, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x512x512xf32>, tensor<2x512x4x8xf32>) -> tensor<2x4x512x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[D]], dims = [0, 2, 1, 3] : (tensor<2x4x512x8xf32>) -> tensor<2x512x4x8xf32>
// CHECK: return %[[T]]
func.func @product_of_swapped(%v: tensor<2x512x4x8xf32>, %w: tensor<2x4x512x512xf32>) -> tensor<2x512x4x8xf32> {
  %0 = stablehlo.dot_general %v, %w, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3] : (tensor<2x512x4x8xf32>, tensor<2x4x512x512xf32>) -> tensor<2x4x8x512xf32>
  %1 = stablehlo.transpose %0, dims = [0, 3, 1, 2] : (tensor<2x4x8x512xf32>) -> tensor<2x512x4x8xf32>
  return %1 : tensor<2x512x4x8xf32>
}

// What only adds dimensions of size 1 goes first: the product takes the transpose.
// CHECK-LABEL: @reshape_of_transpose
// CHECK: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x4x512x8xf32>) -> tensor<2x4x512x1x8xf32>
// CHECK: %[[D:.*]] = stablehlo.dot_general %[[R]], %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [4] x [3]
// CHECK: return %[[D]]
func.func @reshape_of_transpose(%q: tensor<2x4x512x8xf32>, %k: tensor<2x4x512x8xf32>) -> tensor<2x4x512x1x512xf32> {
  %0 = stablehlo.transpose %q, dims = [0, 2, 1, 3] : (tensor<2x4x512x8xf32>) -> tensor<2x512x4x8xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x512x4x8xf32>) -> tensor<2x512x4x1x8xf32>
  %2 = stablehlo.dot_general %1, %k, batching_dims = [0, 2] x [0, 1], contracting_dims = [4] x [3] : (tensor<2x512x4x1x8xf32>, tensor<2x4x512x8xf32>) -> tensor<2x4x512x1x512xf32>
  return %2 : tensor<2x4x512x1x512xf32>
}

// Transposes meet across what drops them; dimensions of size 1 lie ahead of those that they precede.
// CHECK-LABEL: @transposes_around_a_reshape
// CHECK: %[[R:.*]] = stablehlo.reshape %arg0 : (tensor<2x4x5x1x8xf32>) -> tensor<2x4x5x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[R]], dims = [2, 3, 1, 0] : (tensor<2x4x5x8xf32>) -> tensor<5x8x4x2xf32>
// CHECK: return %[[T]]
func.func @transposes_around_a_reshape(%x: tensor<2x4x5x1x8xf32>) -> tensor<5x8x4x2xf32> {
  %0 = stablehlo.transpose %x, dims = [4, 3, 0, 2, 1] : (tensor<2x4x5x1x8xf32>) -> tensor<8x1x2x5x4xf32>
  %1 = stablehlo.reshape %0 : (tensor<8x1x2x5x4xf32>) -> tensor<8x2x5x4x1xf32>
  %2 = stablehlo.transpose %1, dims = [2, 4, 0, 3, 1] : (tensor<8x2x5x4x1xf32>) -> tensor<5x1x8x4x2xf32>
  %3 = stablehlo.reshape %2 : (tensor<5x1x8x4x2xf32>) -> tensor<5x8x4x2xf32>
  return %3 : tensor<5x8x4x2xf32>
}

// The product is a hundredth of the operand: it is transposed instead.
// CHECK-LABEL: @product_of_transposed
// CHECK: %[[D:.*]] = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [3] x [1]
// CHECK-SAME: -> tensor<2x4x512x8xf32>
// CHECK: %[[T:.*]] = stablehlo.transpose %[[D]], dims = [0, 2, 1, 3] : (tensor<2x4x512x8xf32>) -> tensor<2x512x4x8xf32>
// CHECK-NEXT: return %[[T]]
func.func @product_of_transposed(%w: tensor<2x4x512x512xf32>, %k: tensor<2x512x8xf32>) -> tensor<2x512x4x8xf32> {
  %0 = stablehlo.transpose %w, dims = [0, 3, 2, 1] : (tensor<2x4x512x512xf32>) -> tensor<2x512x512x4xf32>
  %1 = stablehlo.dot_general %0, %k, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x512x512x4xf32>, tensor<2x512x8xf32>) -> tensor<2x512x4x8xf32>
  return %1 : tensor<2x512x4x8xf32>
}

// -----

// Rows that are stacked again; one that follows none, and one whose columns differ.
// CHECK-LABEL: @join_slices
// CHECK-DAG: %[[ROWS:.*]] = stablehlo.slice %arg0 [1:6, 0:7]
// CHECK-DAG: %[[LAST:.*]] = stablehlo.slice %arg0 [2:4, 0:7]
// CHECK: stablehlo.concatenate %[[ROWS]], %[[LAST]], dim = 0
// CHECK: return %{{.*}}, %arg0
func.func @join_slices(%x: tensor<9x7xf32>) -> (tensor<7x7xf32>, tensor<9x7xf32>) {
  %0 = stablehlo.slice %x [1:2, 0:7] : (tensor<9x7xf32>) -> tensor<1x7xf32>
  %1 = stablehlo.slice %x [2:5, 0:7] : (tensor<9x7xf32>) -> tensor<3x7xf32>
  %2 = stablehlo.slice %x [5:6, 0:7] : (tensor<9x7xf32>) -> tensor<1x7xf32>
  %3 = stablehlo.slice %x [2:4, 0:7] : (tensor<9x7xf32>) -> tensor<2x7xf32>
  %4 = stablehlo.concatenate %0, %1, %2, %3, dim = 0 : (tensor<1x7xf32>, tensor<3x7xf32>, tensor<1x7xf32>, tensor<2x7xf32>) -> tensor<7x7xf32>
  %5 = stablehlo.slice %x [0:9, 0:3] : (tensor<9x7xf32>) -> tensor<9x3xf32>
  %6 = stablehlo.slice %x [0:9, 3:7] : (tensor<9x7xf32>) -> tensor<9x4xf32>
  %7 = stablehlo.concatenate %5, %6, dim = 1 : (tensor<9x3xf32>, tensor<9x4xf32>) -> tensor<9x7xf32>
  return %4, %7 : tensor<7x7xf32>, tensor<9x7xf32>
}
