// RUN: isthmus-opt --simplify --split-input-file %s | FileCheck %s

// CHECK-LABEL: @sum_of_bytes
// CHECK: stablehlo.reduce(%arg0 init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<4x8xui8>, tensor<ui8>) -> tensor<4xui8>
func.func @sum_of_bytes(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %zero = stablehlo.constant dense<0> : tensor<ui32>
  %wide = stablehlo.convert %x : (tensor<4x8xui8>) -> tensor<4x8xui32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xui32>, tensor<ui32>) -> tensor<4xui32>
  %kept = stablehlo.convert %sum : (tensor<4xui32>) -> tensor<4xui8>
  return %kept : tensor<4xui8>
}

// -----

// The initial value's low bits count; the sign of a narrow operand is kept where 16 bits are.
// CHECK-LABEL: @product_from_an_initial_value
// CHECK-DAG: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<9xi8>) -> tensor<9xi16>
// CHECK-DAG: %[[INIT:.*]] = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<i16>
// CHECK: stablehlo.reduce(%[[X]] init: %[[INIT]]) applies stablehlo.multiply across dimensions = [0] : (tensor<9xi16>, tensor<i16>) -> tensor<i16>
func.func @product_from_an_initial_value(%x: tensor<9xi8>, %init: tensor<i64>) -> tensor<i16> {
  %wide = stablehlo.convert %x : (tensor<9xi8>) -> tensor<9xi64>
  %product = stablehlo.reduce(%wide init: %init) applies stablehlo.multiply across dimensions = [0] : (tensor<9xi64>, tensor<i64>) -> tensor<i64>
  %kept = stablehlo.convert %product : (tensor<i64>) -> tensor<i16>
  return %kept : tensor<i16>
}

// -----

// The greatest number needs all of its bits, and so does a result that somebody else reads.
// CHECK-LABEL: @others_stay
// CHECK: applies stablehlo.maximum across dimensions = [0] : (tensor<9xi32>, tensor<i32>)
// CHECK: applies stablehlo.add across dimensions = [0] : (tensor<9xi32>, tensor<i32>)
// CHECK: applies stablehlo.add across dimensions = [0] : (tensor<9xf32>, tensor<f32>)
func.func @others_stay(%x: tensor<9xi8>) -> (tensor<i8>, tensor<i8>, tensor<i32>, tensor<i8>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %zeroF = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.convert %x : (tensor<9xi8>) -> tensor<9xi32>
  %real = stablehlo.convert %x : (tensor<9xi8>) -> tensor<9xf32>
  %max = stablehlo.reduce(%wide init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<9xi32>, tensor<i32>) -> tensor<i32>
  %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<9xi32>, tensor<i32>) -> tensor<i32>
  %sumF = stablehlo.reduce(%real init: %zeroF) applies stablehlo.add across dimensions = [0] : (tensor<9xf32>, tensor<f32>) -> tensor<f32>
  %a = stablehlo.convert %max : (tensor<i32>) -> tensor<i8>
  %b = stablehlo.convert %sum : (tensor<i32>) -> tensor<i8>
  %c = stablehlo.convert %sumF : (tensor<f32>) -> tensor<i8>
  return %a, %b, %sum, %c : tensor<i8>, tensor<i8>, tensor<i32>, tensor<i8>
}
