// e^x - 1, exact near zero.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 1.0e-05, -20.0]> : tensor<5xf32>
  %r = stablehlo.exponential_minus_one %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 1.7182819, -0.63212055, 1.000005e-05, -1.0]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 1.0e-05, -20.0]> : tensor<5xf64>
  %r = stablehlo.exponential_minus_one %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 1.7182818284590453, -0.6321205588285577, 1.0000050000166668e-05, -0.9999999979388464]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.exponential_minus_one %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, -1.0, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.exponential_minus_one %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.5974665, 0.40790018), (-1.1530919, 0.33451182), (2.279202, -3.054893)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.exponential_minus_one %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.5974665191199127, 0.4079001700783598), (-1.1530918656742264, 0.33451182923926226), (2.2792020065198244, -3.0548929807153673)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
