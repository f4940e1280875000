// RUN: isthmus-opt %s -fuse | FileCheck %s

// CHECK-LABEL: @chain
// CHECK-NEXT: %[[F:.*]] = "isthmus.fusion"(%arg0, %arg1) ({
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>):
// CHECK-NEXT: %[[M:.*]] = stablehlo.multiply %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[M]], %[[B]]
// CHECK-NEXT: isthmus.yield %[[S]]
// CHECK: return %[[F]]
func.func @chain(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<8xf32>
  %1 = stablehlo.add %0, %y : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// The bodies of loops are fused too; what computes the condition is a kernel of its own.
// CHECK-LABEL: @in_a_loop
// CHECK: stablehlo.while
// CHECK: cond {
// CHECK: isthmus.fusion
// CHECK: stablehlo.compare
// CHECK: do {
// CHECK: isthmus.fusion
// CHECK: stablehlo.multiply
// CHECK-NEXT: stablehlo.negate
// CHECK-NEXT: isthmus.yield
func.func @in_a_loop(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<8xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %t = stablehlo.multiply %s, %s : tensor<8xf32>
    %v = stablehlo.negate %t : tensor<8xf32>
    stablehlo.return %i, %v : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// Numbers from outside come into the kernels of the body, splats of them too.
// CHECK-LABEL: @numbers_in_a_loop
// CHECK: stablehlo.while
// CHECK: do {
// CHECK-NEXT: "isthmus.fusion"(%{{[^,]*}}) ({
// CHECK: stablehlo.constant dense<2>
// CHECK: stablehlo.broadcast_in_dim
// CHECK: stablehlo.divide
// CHECK: isthmus.yield
// CHECK: return
func.func @numbers_in_a_loop(%x: tensor<8xi32>, %p: tensor<i1>) -> (tensor<8xi32>, tensor<8xi32>) {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %twos = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %r:2 = stablehlo.while(%q = %p, %s = %x) : tensor<i1>, tensor<8xi32>
  cond {
    stablehlo.return %q : tensor<i1>
  } do {
    %h = stablehlo.divide %s, %twos : tensor<8xi32>
    stablehlo.return %q, %h : tensor<i1>, tensor<8xi32>
  }
  return %r#1, %twos : tensor<8xi32>, tensor<8xi32>
}

// A library operation stays as it is.
// CHECK-LABEL: @library
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1
// CHECK-NEXT: return
func.func @library(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// Two sums over one array would be one kernel, but the second waits for a collective that comes
// after the first one's: the order of collectives is a dependence too.
// CHECK-LABEL: @order_of_collectives
// CHECK: isthmus.fusion
// CHECK: stablehlo.reduce
// CHECK: "stablehlo.all_reduce"
// CHECK: "stablehlo.all_reduce"
// CHECK: isthmus.fusion
// CHECK: stablehlo.reduce
// CHECK: return
func.func @order_of_collectives(%x: tensor<64x64xf32>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %first = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  %a = "stablehlo.all_reduce"(%first) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %b = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %wide = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
  %scaled = stablehlo.multiply %x, %wide : tensor<64x64xf32>
  %second = stablehlo.reduce(%scaled init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
  return %a, %second : tensor<64xf32>, tensor<64xf32>
}

// Rows that are joined of parts, or padded, are stored before they are reduced; short ones are not.
// CHECK-LABEL: @rows_of_parts
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.concatenate
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.reduce
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.pad
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.reduce
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.concatenate
// CHECK-NEXT: stablehlo.reduce
func.func @rows_of_parts(%x: tensor<64x100xf32>, %y: tensor<64x9xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %joined = stablehlo.concatenate %x, %y, dim = 1 : (tensor<64x100xf32>, tensor<64x9xf32>) -> tensor<64x109xf32>
  %0 = stablehlo.reduce(%joined init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x109xf32>, tensor<f32>) -> tensor<64xf32>
  %padded = stablehlo.pad %x, %zero, low = [0, 3], high = [0, 0], interior = [0, 0] : (tensor<64x100xf32>, tensor<f32>) -> tensor<64x103xf32>
  %1 = stablehlo.reduce(%padded init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<64x103xf32>, tensor<f32>) -> tensor<64xf32>
  %short = stablehlo.concatenate %y, %y, dim = 1 : (tensor<64x9xf32>, tensor<64x9xf32>) -> tensor<64x18xf32>
  %2 = stablehlo.reduce(%short init: %zero) applies stablehlo.minimum across dimensions = [1] : (tensor<64x18xf32>, tensor<f32>) -> tensor<64xf32>
  return %0, %1, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// Nor are they transposed before they are stored, but for lists of a few columns.
// CHECK-LABEL: @transposed_parts
// CHECK: stablehlo.concatenate
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.transpose
// CHECK: stablehlo.pad
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.transpose
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.concatenate
// CHECK-NEXT: stablehlo.transpose
func.func @transposed_parts(%x: tensor<64x100xf32>, %y: tensor<1x6400xf32>) -> (tensor<100x128xf32>, tensor<102x64xf32>, tensor<6400x2xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %joined = stablehlo.concatenate %x, %x, dim = 0 : (tensor<64x100xf32>, tensor<64x100xf32>) -> tensor<128x100xf32>
  %0 = stablehlo.transpose %joined, dims = [1, 0] : (tensor<128x100xf32>) -> tensor<100x128xf32>
  %padded = stablehlo.pad %x, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<64x100xf32>, tensor<f32>) -> tensor<64x102xf32>
  %1 = stablehlo.transpose %padded, dims = [1, 0] : (tensor<64x102xf32>) -> tensor<102x64xf32>
  %points = stablehlo.concatenate %y, %y, dim = 0 : (tensor<1x6400xf32>, tensor<1x6400xf32>) -> tensor<2x6400xf32>
  %2 = stablehlo.transpose %points, dims = [1, 0] : (tensor<2x6400xf32>) -> tensor<6400x2xf32>
  return %0, %1, %2 : tensor<100x128xf32>, tensor<102x64xf32>, tensor<6400x2xf32>
}

// A column that each row of a larger matrix reads is stored, one that is read once is not, and one
// element for each row neither.
// CHECK-LABEL: @columns
// CHECK: stablehlo.slice
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK-NOT: stablehlo.slice
// CHECK: stablehlo.negate
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.slice
// CHECK: stablehlo.exponential
func.func @columns(%x: tensor<640x100xf32>) -> (tensor<700x640xf32>, tensor<640x700xf32>) {
  %c = stablehlo.slice %x [0:640, 3:4] : (tensor<640x100xf32>) -> tensor<640x1xf32>
  %r = stablehlo.reshape %c : (tensor<640x1xf32>) -> tensor<640xf32>
  %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<640xf32>) -> tensor<700x640xf32>
  %0 = stablehlo.negate %b : tensor<700x640xf32>
  %d = stablehlo.slice %x [0:640, 4:5] : (tensor<640x100xf32>) -> tensor<640x1xf32>
  %s = stablehlo.reshape %d : (tensor<640x1xf32>) -> tensor<640xf32>
  %e = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<640xf32>) -> tensor<640x700xf32>
  %1 = stablehlo.exponential %e : tensor<640x700xf32>
  return %0, %1 : tensor<700x640xf32>, tensor<640x700xf32>
}

// Rows are moved by a kernel of their own before they become columns, with what follows those.
// CHECK-LABEL: @moved_rows
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.transpose {{.*}}, dims = [2, 0, 1, 3]
// CHECK-NEXT: isthmus.yield
// CHECK: "isthmus.fusion"
// CHECK: stablehlo.transpose {{.*}}, dims = [3, 0, 1, 2]
// CHECK-NEXT: stablehlo.subtract
func.func @moved_rows(%w: tensor<3x3x64x32xf32>, %p: tensor<32x64x3x3xf32>) -> tensor<32x64x3x3xf32> {
  %0 = stablehlo.transpose %w, dims = [2, 0, 1, 3] : (tensor<3x3x64x32xf32>) -> tensor<64x3x3x32xf32>
  %1 = stablehlo.transpose %0, dims = [3, 0, 1, 2] : (tensor<64x3x3x32xf32>) -> tensor<32x64x3x3xf32>
  %2 = stablehlo.subtract %p, %1 : tensor<32x64x3x3xf32>
  return %2 : tensor<32x64x3x3xf32>
}
