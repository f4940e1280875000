// Complex numbers are padded, summed and moved as others are.
// RUN: isthmus-opt %s -partition=num-partitions=2 -split-input-file | FileCheck %s

sdy.mesh @mesh = <["x"=2]>
// CHECK-LABEL: @padded_product
// CHECK: stablehlo.constant dense<(0.000000e+00,0.000000e+00)>
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.all_reduce
func.func @main(%a: tensor<5x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>> attributes {test = @padded_product} {
  %0 = sdy.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<5x3xcomplex<f32>>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [0] x [0]
    : (tensor<5x3xcomplex<f32>>, tensor<5x3xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
  return %1 : tensor<3x3xcomplex<f32>>
}

// -----

sdy.mesh @mesh = <["x"=2]>
// CHECK-LABEL: @slice
// CHECK: collective_permute
func.func @main(%a: tensor<16x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<12x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) attributes {test = @slice} {
  %0 = stablehlo.slice %a [4:16, 0:3] : (tensor<16x3xcomplex<f32>>) -> tensor<12x3xcomplex<f32>>
  return %0 : tensor<12x3xcomplex<f32>>
}

// -----

sdy.mesh @mesh = <["x"=2]>
// CHECK-LABEL: @sum_and_product
// CHECK-NOT: all_gather
// CHECK: stablehlo.all_reduce
// CHECK: stablehlo.multiply
// CHECK: stablehlo.all_reduce
// CHECK: stablehlo.add
func.func @main(%a: tensor<6x3xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) attributes {test = @sum_and_product} {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f32>>
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<6x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  %1 = stablehlo.reduce(%a init: %one) applies stablehlo.multiply across dimensions = [0]
    : (tensor<6x3xcomplex<f32>>, tensor<complex<f32>>) -> tensor<3xcomplex<f32>>
  return %0, %1 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
}
