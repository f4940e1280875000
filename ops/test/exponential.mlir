// e to the power of the operand.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.5, -20.0]> : tensor<5xf32>
  %r = stablehlo.exponential %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[1.0, 2.7182817, 0.36787945, 244.69193, 2.0611537e-09]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.5, -20.0]> : tensor<5xf64>
  %r = stablehlo.exponential %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[1.0, 2.718281828459045, 0.36787944117144233, 244.69193226422038, 2.061153622438558e-09]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.5, -20.0]> : tensor<5xf16>
  %r = stablehlo.exponential %x : tensor<5xf16>
  %expected1 = stablehlo.constant dense<[1.0, 2.71875, 0.367919921875, 244.75, 0.0]> : tensor<5xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.5, -20.0]> : tensor<5xbf16>
  %r = stablehlo.exponential %x : tensor<5xbf16>
  %expected1 = stablehlo.constant dense<[1.0, 2.71875, 0.3671875, 245.0, 2.066371962428093e-09]> : tensor<5xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 100.0]> : tensor<4xf32>
  %r = stablehlo.exponential %x : tensor<4xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0.0, 0x7FC00000, 0x7F800000]> : tensor<4xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.exponential %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.5974665, 0.40790018), (-0.15309186, 0.33451182), (3.279202, -3.054893)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.exponential %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(1.5974665191199127, 0.4079001700783598), (-0.1530918656742263, 0.33451182923926226), (3.2792020065198244, -3.0548929807153673)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
