// Squares.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.5, -3.0, 100.0]> : tensor<4xf32>
  %r = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.0, 2.25, 9.0, 10000.0]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.5, -3.0, 100.0]> : tensor<4xf64>
  %r = chlo.square %x : tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.0, 2.25, 9.0, 10000.0]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = chlo.square %x : tensor<3xf32> -> tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.square %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.1875, 0.25), (-3.0, -4.0), (1.6875, -2.25)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.square %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.1875, 0.25), (-3.0, -4.0), (1.6875, -2.25)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
