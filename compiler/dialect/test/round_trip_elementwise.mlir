// Elementwise operations read back as they were written, in both forms.
// RUN: isthmus-opt %s -o %t.pretty && FileCheck %s < %t.pretty
// RUN: isthmus-opt %t.pretty -o %t.again && diff %t.pretty %t.again
// RUN: isthmus-opt %s --mlir-print-op-generic -o %t.generic
// RUN: isthmus-opt %t.generic --mlir-print-op-generic -o %t.again && diff %t.generic %t.again
// RUN: isthmus-opt %t.generic -o %t.again && diff %t.pretty %t.again

// CHECK-LABEL: func.func @unary
func.func @unary(%f: tensor<4xf32>, %i: tensor<4xi32>, %c: tensor<4xcomplex<f32>>) {
  // CHECK: stablehlo.cbrt %{{.*}} : tensor<4xf32>
  %1 = stablehlo.cbrt %f : tensor<4xf32>
  // CHECK: stablehlo.cosine %{{.*}} : tensor<4xf32>
  %2 = stablehlo.cosine %f : tensor<4xf32>
  // CHECK: stablehlo.exponential %{{.*}} : tensor<4xf32>
  %3 = stablehlo.exponential %f : tensor<4xf32>
  // CHECK: stablehlo.exponential_minus_one %{{.*}} : tensor<4xf32>
  %4 = stablehlo.exponential_minus_one %f : tensor<4xf32>
  // CHECK: stablehlo.log %{{.*}} : tensor<4xf32>
  %5 = stablehlo.log %f : tensor<4xf32>
  // CHECK: stablehlo.log_plus_one %{{.*}} : tensor<4xf32>
  %6 = stablehlo.log_plus_one %f : tensor<4xf32>
  // CHECK: stablehlo.logistic %{{.*}} : tensor<4xf32>
  %7 = stablehlo.logistic %f : tensor<4xf32>
  // CHECK: stablehlo.rsqrt %{{.*}} : tensor<4xf32>
  %8 = stablehlo.rsqrt %f : tensor<4xf32>
  // CHECK: stablehlo.sine %{{.*}} : tensor<4xf32>
  %9 = stablehlo.sine %f : tensor<4xf32>
  // CHECK: stablehlo.sqrt %{{.*}} : tensor<4xf32>
  %10 = stablehlo.sqrt %f : tensor<4xf32>
  // CHECK: stablehlo.tan %{{.*}} : tensor<4xf32>
  %11 = stablehlo.tan %f : tensor<4xf32>
  // CHECK: stablehlo.tanh %{{.*}} : tensor<4xf32>
  %12 = stablehlo.tanh %f : tensor<4xf32>
  // CHECK: stablehlo.ceil %{{.*}} : tensor<4xf32>
  %13 = stablehlo.ceil %f : tensor<4xf32>
  // CHECK: stablehlo.floor %{{.*}} : tensor<4xf32>
  %14 = stablehlo.floor %f : tensor<4xf32>
  // CHECK: stablehlo.round_nearest_afz %{{.*}} : tensor<4xf32>
  %15 = stablehlo.round_nearest_afz %f : tensor<4xf32>
  // CHECK: stablehlo.round_nearest_even %{{.*}} : tensor<4xf32>
  %16 = stablehlo.round_nearest_even %f : tensor<4xf32>
  // CHECK: stablehlo.sign %{{.*}} : tensor<4xf32>
  %17 = stablehlo.sign %f : tensor<4xf32>
  // CHECK: stablehlo.negate %{{.*}} : tensor<4xf32>
  %18 = stablehlo.negate %f : tensor<4xf32>
  // CHECK: stablehlo.abs %{{.*}} : tensor<4xf32>
  %19 = stablehlo.abs %f : tensor<4xf32>
  // CHECK: stablehlo.count_leading_zeros %{{.*}} : tensor<4xi32>
  %20 = stablehlo.count_leading_zeros %i : tensor<4xi32>
  // CHECK: stablehlo.not %{{.*}} : tensor<4xi32>
  %21 = stablehlo.not %i : tensor<4xi32>
  // CHECK: stablehlo.popcnt %{{.*}} : tensor<4xi32>
  %22 = stablehlo.popcnt %i : tensor<4xi32>
  // CHECK: stablehlo.abs %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %23 = stablehlo.abs %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.imag %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %24 = stablehlo.imag %c : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.is_finite %{{.*}} : (tensor<4xf32>) -> tensor<4xi1>
  %25 = stablehlo.is_finite %f : (tensor<4xf32>) -> tensor<4xi1>
  // CHECK: stablehlo.uniform_quantize %{{.*}} : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %q = stablehlo.uniform_quantize %f : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>
  // CHECK: stablehlo.uniform_dequantize %{{.*}} : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  %26 = stablehlo.uniform_dequantize %q : (tensor<4x!quant.uniform<i8:f32, 5.000000e-01:3>>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%f: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<f32>) {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %27 = stablehlo.add %f, %f : tensor<4xf32>
  // CHECK: stablehlo.atan2 %{{.*}}, %{{.*}} : tensor<4xf32>
  %28 = stablehlo.atan2 %f, %f : tensor<4xf32>
  // CHECK: stablehlo.divide %{{.*}}, %{{.*}} : tensor<4xf32>
  %29 = stablehlo.divide %f, %f : tensor<4xf32>
  // CHECK: stablehlo.maximum %{{.*}}, %{{.*}} : tensor<4xf32>
  %30 = stablehlo.maximum %f, %f : tensor<4xf32>
  // CHECK: stablehlo.minimum %{{.*}}, %{{.*}} : tensor<4xf32>
  %31 = stablehlo.minimum %f, %f : tensor<4xf32>
  // CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<4xf32>
  %32 = stablehlo.multiply %f, %f : tensor<4xf32>
  // CHECK: stablehlo.power %{{.*}}, %{{.*}} : tensor<4xf32>
  %33 = stablehlo.power %f, %f : tensor<4xf32>
  // CHECK: stablehlo.remainder %{{.*}}, %{{.*}} : tensor<4xf32>
  %34 = stablehlo.remainder %f, %f : tensor<4xf32>
  // CHECK: stablehlo.subtract %{{.*}}, %{{.*}} : tensor<4xf32>
  %35 = stablehlo.subtract %f, %f : tensor<4xf32>
  // CHECK: stablehlo.and %{{.*}}, %{{.*}} : tensor<4xi32>
  %36 = stablehlo.and %i, %i : tensor<4xi32>
  // CHECK: stablehlo.or %{{.*}}, %{{.*}} : tensor<4xi32>
  %37 = stablehlo.or %i, %i : tensor<4xi32>
  // CHECK: stablehlo.xor %{{.*}}, %{{.*}} : tensor<4xi32>
  %38 = stablehlo.xor %i, %i : tensor<4xi32>
  // CHECK: stablehlo.shift_left %{{.*}}, %{{.*}} : tensor<4xi32>
  %39 = stablehlo.shift_left %i, %i : tensor<4xi32>
  // CHECK: stablehlo.shift_right_arithmetic %{{.*}}, %{{.*}} : tensor<4xi32>
  %40 = stablehlo.shift_right_arithmetic %i, %i : tensor<4xi32>
  // CHECK: stablehlo.shift_right_logical %{{.*}}, %{{.*}} : tensor<4xi32>
  %41 = stablehlo.shift_right_logical %i, %i : tensor<4xi32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %42 = stablehlo.clamp %s, %f, %f : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.clamp %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %43 = stablehlo.clamp %f, %f, %f : tensor<4xf32>
  return
}
