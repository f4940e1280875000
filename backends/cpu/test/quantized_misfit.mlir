// RUN: not isthmus-run --backend cpu %s 'dense<1.0> : tensor<f32>' 2>&1 | FileCheck %s

// The size is not known before shapes are refined.
func.func @main(%x: tensor<f32>) -> tensor<?x!quant.uniform<i8:f32:0, {0.5, 0.25}>> {
  %three = stablehlo.constant dense<3> : tensor<1xi64>
  %y = stablehlo.dynamic_broadcast_in_dim %x, %three, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  // CHECK: a type with 2 scales does not fit dimension 0 of 'tensor<3xf32>'
  %q = stablehlo.uniform_quantize %y : (tensor<?xf32>) -> tensor<?x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
  return %q : tensor<?x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
}
