// 1 / √x.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 4.0, 0.5, 1.0e+10, 3.0]> : tensor<5xf32>
  %r = stablehlo.rsqrt %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[1.0, 0.5, 1.4142135, 1.0e-05, 0.57735026]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 4.0, 0.5, 10000000000.0, 3.0]> : tensor<5xf64>
  %r = stablehlo.rsqrt %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[1.0, 0.5, 1.414213562373095, 1.0e-05, 0.5773502691896258]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[1.0, 4.0, 0.5, 3.0]> : tensor<4xf16>
  %r = stablehlo.rsqrt %x : tensor<4xf16>
  %expected1 = stablehlo.constant dense<[1.0, 0.5, 1.4140625, 0.5771484375]> : tensor<4xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xf16>, tensor<4xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[1.0, 4.0, 0.5, 3.0]> : tensor<4xbf16>
  %r = stablehlo.rsqrt %x : tensor<4xbf16>
  %expected1 = stablehlo.constant dense<[1.0, 0.5, 1.4140625, 0.578125]> : tensor<4xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xbf16>, tensor<4xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, 0x7F800000, -1.0, 0x7FC00000]> : tensor<4xf32>
  %r = stablehlo.rsqrt %x : tensor<4xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0.0, 0x7FC00000, 0x7FC00000]> : tensor<4xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.rsqrt %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.3017017, -0.30729008), (0.35157758, -0.56886446), (0.7515378, 0.17741401)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.rsqrt %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(1.3017016520692888, -0.3072900763121319), (0.3515775842541429, -0.5688644810057831), (0.7515377992267845, 0.17741400827811)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
