// Hyperbolic tangents.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, -30.0]> : tensor<5xf32>
  %r = stablehlo.tanh %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.46211717, -0.7615942, 0.9950548, -1.0]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, -30.0]> : tensor<5xf64>
  %r = stablehlo.tanh %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.46211715726000974, -0.7615941559557649, 0.9950547536867305, -1.0]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, -30.0]> : tensor<5xf16>
  %r = stablehlo.tanh %x : tensor<5xf16>
  %expected1 = stablehlo.constant dense<[0.0, 0.462158203125, -0.76171875, 0.9951171875, -1.0]> : tensor<5xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, -30.0]> : tensor<5xbf16>
  %r = stablehlo.tanh %x : tensor<5xbf16>
  %expected1 = stablehlo.constant dense<[0.0, 0.462890625, -0.76171875, 0.99609375, -1.0]> : tensor<5xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.tanh %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0, -1.0, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.tanh %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.48548728, 0.19805545), (-1.1667362, -0.2434582), (0.9881121, -0.09838782)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.tanh %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.4854872810241353, 0.19805544995134958), (-1.16673625724092, -0.24345820118572534), (0.9881121005704792, -0.09838781913967143)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
