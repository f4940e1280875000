// log(1 + x), exact near zero.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0e-05, 2.5, -0.5]> : tensor<4xf32>
  %r = stablehlo.log_plus_one %x : tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.0, 9.99995e-06, 1.2527629, -0.6931472]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0e-05, 2.5, -0.5]> : tensor<4xf64>
  %r = stablehlo.log_plus_one %x : tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.0, 9.999950000333332e-06, 1.252762968495368, -0.6931471805599453]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 1.0013580322265625e-05, 2.5, -0.5]> : tensor<4xf16>
  %r = stablehlo.log_plus_one %x : tensor<4xf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0013580322265625e-05, 1.2529296875, -0.693359375]> : tensor<4xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xf16>, tensor<4xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 1.0013580322265625e-05, 2.5, -0.5]> : tensor<4xbf16>
  %r = stablehlo.log_plus_one %x : tensor<4xbf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0013580322265625e-05, 1.25, -0.69140625]> : tensor<4xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xbf16>, tensor<4xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[-1.0, -2.0, 0x7F800000]> : tensor<3xf32>
  %r = stablehlo.log_plus_one %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0xFF800000, 0x7FC00000, 0x7F800000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.log_plus_one %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.4191646, 0.16514868), (0.6931472, 1.5707964), (0.95937955, -0.2914568)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.log_plus_one %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.4191645952022216, 0.16514867741462683), (0.6931471805599453, 1.5707963267948966), (0.9593795799946813, -0.2914567944778671)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
