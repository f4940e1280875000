// Sums and products of narrow floats are rounded once.
// RUN: isthmus-opt %s -widen-sums | FileCheck %s

// CHECK-LABEL: @rows
// CHECK: [[X:%[a-z0-9_]+]] = stablehlo.convert %arg0 : (tensor<4096x64xbf16>) -> tensor<4096x64xf32>
// CHECK: [[SUM:%[a-z0-9_]+]] = stablehlo.reduce([[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xf32>, tensor<f32>) -> tensor<64xf32>
// CHECK: [[Y:%[a-z0-9_]+]] = stablehlo.convert [[SUM]] : (tensor<64xf32>) -> tensor<64xbf16>
// CHECK: return [[Y]]
func.func @rows(%x: tensor<4096x64xbf16>) -> tensor<64xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %0 : tensor<64xbf16>
}

// CHECK-LABEL: @running_product
// CHECK: stablehlo.convert %arg0 : (tensor<8xf16>) -> tensor<8xf32>
// CHECK: "stablehlo.reduce_window"
// CHECK: stablehlo.multiply %{{.*}} : tensor<f32>
// CHECK: stablehlo.convert %{{.*}} : (tensor<8xf32>) -> tensor<8xf16>
func.func @running_product(%x: tensor<8xf16>) -> tensor<8xf16> {
  %one = stablehlo.constant dense<1.0> : tensor<f16>
  %0 = "stablehlo.reduce_window"(%x, %one) ({
  ^bb0(%a: tensor<f16>, %b: tensor<f16>):
    %1 = stablehlo.multiply %a, %b : tensor<f16>
    stablehlo.return %1 : tensor<f16>
  }) {window_dimensions = array<i64: 8>, padding = dense<[[7, 0]]> : tensor<1x2xi64>} : (tensor<8xf16>, tensor<f16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// Neither what loses nothing, nor wide floats.
// CHECK-LABEL: @others
// CHECK-NOT: stablehlo.convert
func.func @others(%x: tensor<8xbf16>, %y: tensor<8xf32>, %z: tensor<8xi8>) -> (tensor<bf16>, tensor<f32>, tensor<i8>) {
  %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i8>
  %0 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8xbf16>, tensor<bf16>) -> tensor<bf16>
  %1 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%z init: %none) applies stablehlo.add across dimensions = [0] : (tensor<8xi8>, tensor<i8>) -> tensor<i8>
  return %0, %1, %2 : tensor<bf16>, tensor<f32>, tensor<i8>
}
