// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// CHECK-LABEL: @as_many_of_both
// CHECK-NOT: stablehlo.pad
// CHECK: %[[PAIRS:.*]] = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 2 : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x2xf32>
// CHECK: %[[WOVEN:.*]] = stablehlo.reshape %[[PAIRS]] : (tensor<2x4x2xf32>) -> tensor<2x8xf32>
// CHECK: return %[[WOVEN]]
func.func @as_many_of_both(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 1], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  %b = stablehlo.pad %y, %zero, low = [0, 1], high = [0, 0], interior = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x8xf32>
  %r = stablehlo.add %a, %b : tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// -----

// CHECK-LABEL: @one_more_of_the_first
// CHECK-NOT: stablehlo.pad
// CHECK: %[[PAIRS:.*]] = stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 1 : (tensor<3x1xi1>, tensor<3x1xi1>) -> tensor<3x2xi1>
// CHECK: %[[WOVEN:.*]] = stablehlo.reshape %[[PAIRS]] : (tensor<3x2xi1>) -> tensor<6xi1>
// CHECK: %[[LAST:.*]] = stablehlo.slice %{{.*}} [3:4]
// CHECK: %[[ALL:.*]] = stablehlo.concatenate %[[WOVEN]], %[[LAST]], dim = 0
// CHECK: return %[[ALL]]
func.func @one_more_of_the_first(%x: tensor<4xi1>, %y: tensor<3xi1>) -> tensor<7xi1> {
  %zero = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.pad %x, %zero, low = [0], high = [0], interior = [1] : (tensor<4xi1>, tensor<i1>) -> tensor<7xi1>
  %b = stablehlo.pad %y, %zero, low = [1], high = [1], interior = [1] : (tensor<3xi1>, tensor<i1>) -> tensor<7xi1>
  %r = stablehlo.or %b, %a : tensor<7xi1>
  return %r : tensor<7xi1>
}

// -----

// Both have elements at the same places, or something else lies between them.
// CHECK-LABEL: @others_stay
// CHECK-COUNT-4: stablehlo.pad
func.func @others_stay(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %a = stablehlo.pad %x, %zero, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.pad %y, %zero, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %r = stablehlo.add %a, %b : tensor<8xf32>
  %c = stablehlo.pad %x, %one, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %d = stablehlo.pad %y, %zero, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
  %s = stablehlo.add %c, %d : tensor<8xf32>
  return %r, %s : tensor<8xf32>, tensor<8xf32>
}
