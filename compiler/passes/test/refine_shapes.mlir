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
