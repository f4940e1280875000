// RUN: isthmus-opt --refine-shapes --split-input-file %s | FileCheck %s

// CHECK-LABEL: @sizes_computed_from_sizes
// CHECK-SAME: -> tensor<6x2xf32>
func.func @sizes_computed_from_sizes(%x: tensor<2x3x2xf32>) -> tensor<?x?xf32> {
  %a = stablehlo.get_dimension_size %x, dim = 0 : (tensor<2x3x2xf32>) -> tensor<i32>
  %b = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3x2xf32>) -> tensor<i32>
  %ab = stablehlo.multiply %a, %b : tensor<i32>
  %c = stablehlo.constant dense<2> : tensor<1xi32>
  %first = stablehlo.reshape %ab : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %first, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  // CHECK: %[[Y:.*]] = stablehlo.reshape %arg0 : (tensor<2x3x2xf32>) -> tensor<6x2xf32>
  %y = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3x2xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // CHECK: stablehlo.exponential %[[Y]] : tensor<6x2xf32>
  %z = stablehlo.exponential %y : tensor<?x?xf32>
  return %z : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: @slice_that_moves
func.func @slice_that_moves(%x: tensor<8xf32>, %start: tensor<1xi32>) -> tensor<1xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %limit = stablehlo.add %start, %one : tensor<1xi32>
  // CHECK: stablehlo.dynamic_slice %arg0, %{{.*}}, sizes = [1]
  %y = stablehlo.real_dynamic_slice %x, %start, %limit, %one : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// CHECK-LABEL: @loop_over_a_computed_shape
func.func @loop_over_a_computed_shape(%n: tensor<i32>) -> tensor<?xf32> {
  %shape = stablehlo.constant dense<3> : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %x = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  // CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<3xf32>
  %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<?xf32>
  cond {
    %c = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.negate %y : tensor<?xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<?xf32>
  }
  return %r#1 : tensor<?xf32>
}

// -----

// CHECK-LABEL: @size_of_an_input_stays
func.func @size_of_an_input_stays(%shape: tensor<1xi32>) -> tensor<?xf32> {
  // CHECK: stablehlo.dynamic_iota
  %x = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %x : tensor<?xf32>
}

// -----

// CHECK-LABEL: @shape_of_the_caller
// CHECK-SAME: (%arg0: tensor<5x4xf32>) -> tensor<5x4xf32>
func.func @shape_of_the_caller(%x: tensor<?x4xf32> {isthmus.shape = array<i64: 5, 4>}) -> tensor<?x4xf32> {
  // CHECK-NOT: shape_assertion
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %is_one = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%is_one, %n) {has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %minus = stablehlo.subtract %n, %one : tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %one1 = stablehlo.reshape %one : (tensor<i32>) -> tensor<1xi32>
  %window = stablehlo.concatenate %n1, %one1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %low = stablehlo.reshape %minus : (tensor<i32>) -> tensor<1x1xi32>
  %none = stablehlo.constant dense<0> : tensor<1x1xi32>
  %first = stablehlo.concatenate %low, %none, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>
  %second = stablehlo.constant dense<0> : tensor<1x2xi32>
  %padding = stablehlo.concatenate %first, %second, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  // CHECK: "stablehlo.reduce_window"(%arg0, %{{.*}}) <{base_dilations = array<i64: 1, 1>
  // CHECK-SAME: padding = dense<{{\[\[}}4, 0], [0, 0]]>
  // CHECK-SAME: window_dimensions = array<i64: 5, 1>
  // CHECK: stablehlo.add
  // CHECK: (tensor<5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %window, %ones, %ones, %ones, %padding) {called_computations = [@sum]} : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: @contractions
func.func @contractions(%x: tensor<?x1x8xf32> {isthmus.shape = array<i64: 3, 1, 8>}, %w: tensor<2x1x3xf32>) -> (tensor<?x?x8x8xf32>, tensor<?x2x?xf32>) {
  // CHECK: stablehlo.dot_general {{.*}} -> tensor<3x8x3x8xf32>
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<?x1x8xf32>, tensor<?x1x8xf32>) -> tensor<?x8x?x8xf32>
  // CHECK: stablehlo.convolution{{.*}} -> tensor<3x2x4xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[2, 1]], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x1x8xf32>, tensor<2x1x3xf32>) -> tensor<?x2x?xf32>
  %2 = stablehlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<?x8x?x8xf32>) -> tensor<?x?x8x8xf32>
  return %2, %1 : tensor<?x?x8x8xf32>, tensor<?x2x?xf32>
}
