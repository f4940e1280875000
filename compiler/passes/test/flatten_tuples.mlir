// RUN: isthmus-opt --flatten-tuples %s | FileCheck %s

// CHECK: @main(%[[X:.*]]: tensor<f32>, %[[Y:.*]]: tensor<i32> {tf.aliasing_output = 2 : i32}, %[[Z:.*]]: tensor<2xi1> {jax.buffer_donor = true})
// CHECK-SAME: -> (tensor<2xi1>, tensor<f32>, tensor<i32> {jax.result_info = "y"})
// CHECK: return %[[Z]], %[[X]], %[[Y]] : tensor<2xi1>, tensor<f32>, tensor<i32>
func.func @main(%t: tuple<tensor<f32>>, %y: tensor<i32> {tf.aliasing_output = 1 : i32}, %z: tensor<2xi1> {tf.aliasing_output = 0 : i32}) -> (tuple<tensor<2xi1>, tuple<tensor<f32>>>, tensor<i32> {jax.result_info = "y"}) {
  %r = stablehlo.tuple %z, %t : tuple<tensor<2xi1>, tuple<tensor<f32>>>
  return %r, %y : tuple<tensor<2xi1>, tuple<tensor<f32>>>, tensor<i32>
}
