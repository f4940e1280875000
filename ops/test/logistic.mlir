// 1 / (1 + e^-x).
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.0, -10.0]> : tensor<5xf32>
  %r = stablehlo.logistic %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.5, 0.7310586, 0.26894143, 0.9933072, 4.539787e-05]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.0, -10.0]> : tensor<5xf64>
  %r = stablehlo.logistic %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.5, 0.7310585786300049, 0.2689414213699951, 0.9933071490757153, 4.5397868702434395e-05]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.0, -10.0]> : tensor<5xf16>
  %r = stablehlo.logistic %x : tensor<5xf16>
  %expected1 = stablehlo.constant dense<[0.5, 0.73095703125, 0.26904296875, 0.9931640625, 4.5418739318847656e-05]> : tensor<5xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 5.0, -10.0]> : tensor<5xbf16>
  %r = stablehlo.logistic %x : tensor<5xbf16>
  %expected1 = stablehlo.constant dense<[0.5, 0.73046875, 0.26953125, 0.9921875, 4.5299530029296875e-05]> : tensor<5xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.logistic %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[1.0, 0.0, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.logistic %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.62427515, 0.059002966), (-0.021415364, 0.40343872), (0.8452029, -0.11050859)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.logistic %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.6242751644199613, 0.05900296431450803), (-0.02141536417218053, 0.40343870608154253), (0.8452028957668646, -0.11050859165713013)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
