// RUN: isthmus-opt --pad-bounded --split-input-file --verify-diagnostics %s | FileCheck %s

// What lies beyond the size does not reach the sum; the result is zero there.
// CHECK-LABEL: @masks
// CHECK-SAME: (%[[X:.*]]: tensor<6xf32>, %[[N:.*]]: tensor<i32>) -> (tensor<f32>, tensor<6xf32>)
func.func @masks(%x: tensor<6xf32>, %n: tensor<i32>) -> (tensor<f32>, tensor<?xf32, #stablehlo.bounds<6>>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<6>>
  // CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<6xf32>
  %e = stablehlo.exponential %d : tensor<?xf32, #stablehlo.bounds<6>>
  // CHECK: stablehlo.broadcast_in_dim %[[N]], dims = [] : (tensor<i32>) -> tensor<6xi32>
  // CHECK: %[[INSIDE:.*]] = stablehlo.compare LT
  // CHECK: %[[FILLED:.*]] = stablehlo.select %[[INSIDE]], %[[E]]
  // CHECK: stablehlo.reduce(%[[FILLED]]
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf32, #stablehlo.bounds<6>>, tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.select %{{.*}}, %[[E]]
  return %s, %e : tensor<f32>, tensor<?xf32, #stablehlo.bounds<6>>
}

// -----

func.func @has_no_meaning_yet(%x: tensor<6xf32>, %n: tensor<i32>) -> tensor<?xcomplex<f32>, #stablehlo.bounds<6>> {
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<6>>
  %c = stablehlo.complex %d, %d : tensor<?xcomplex<f32>, #stablehlo.bounds<6>>
  // expected-error@+1 {{stablehlo.fft of arrays of bounded size: the compiler has no code for this operation yet}}
  %r = stablehlo.fft %c, type = FFT, length = [6] : (tensor<?xcomplex<f32>, #stablehlo.bounds<6>>) -> tensor<?xcomplex<f32>, #stablehlo.bounds<6>>
  return %r : tensor<?xcomplex<f32>, #stablehlo.bounds<6>>
}
