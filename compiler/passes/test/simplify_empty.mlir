// What makes only arrays without elements is not run; what has effects, or a result that counts, is.
// RUN: isthmus-opt %s -simplify | FileCheck %s

// CHECK-LABEL: @no_rows
// CHECK-NOT: custom_call
// CHECK: stablehlo.constant dense<> : tensor<0x3xcomplex<f32>>
// CHECK-NEXT: return
func.func @no_rows(%a: tensor<0x3xcomplex<f32>>) -> tensor<0x3xcomplex<f32>> {
  %0:2 = stablehlo.custom_call @factor(%a) : (tensor<0x3xcomplex<f32>>) -> (tensor<0x3xcomplex<f32>>, tensor<i32>)
  return %0#0 : tensor<0x3xcomplex<f32>>
}

// CHECK-LABEL: @counted
// CHECK: custom_call @factor
func.func @counted(%a: tensor<0xf32>) -> tensor<i32> {
  %0:2 = stablehlo.custom_call @factor(%a) : (tensor<0xf32>) -> (tensor<0xf32>, tensor<i32>)
  return %0#1 : tensor<i32>
}

// CHECK-LABEL: @effects
// CHECK: custom_call @print
func.func @effects(%a: tensor<0xf32>) -> tensor<0xf32> {
  %0 = stablehlo.custom_call @print(%a) {has_side_effect = true} : (tensor<0xf32>) -> tensor<0xf32>
  return %0 : tensor<0xf32>
}
