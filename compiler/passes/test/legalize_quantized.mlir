// RUN: isthmus-opt --legalize-quantized %s | FileCheck %s

// CHECK-LABEL: @stores_integers
// CHECK-SAME: (%[[Q:.*]]: tensor<2xui8>) -> tensor<2xui8>
func.func @stores_integers(%q: tensor<2x!quant.uniform<u8:f32, 0.5>>) -> tensor<2x!quant.uniform<u8:f32, 0.5>> {
  // Without a zero point there is nothing to subtract.
  // CHECK-NEXT: %[[REAL:.*]] = stablehlo.convert %[[Q]] : (tensor<2xui8>) -> tensor<2xf32>
  // CHECK-NOT: stablehlo.subtract
  // CHECK: stablehlo.multiply
  // CHECK: stablehlo.tanh %{{.*}} : tensor<2xf32>
  // CHECK: stablehlo.clamp
  // CHECK: stablehlo.round_nearest_even
  // CHECK: stablehlo.convert %{{.*}} : (tensor<2xf32>) -> tensor<2xui8>
  %t = stablehlo.tanh %q : tensor<2x!quant.uniform<u8:f32, 0.5>>
  // CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<2xui8>
  %r = stablehlo.reverse %t, dims = [0] : tensor<2x!quant.uniform<u8:f32, 0.5>>
  return %r : tensor<2x!quant.uniform<u8:f32, 0.5>>
}
