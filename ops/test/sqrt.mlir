// Square roots.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, 4.0, 2.0, 1.0e+10, 0.3]> : tensor<6xf32>
  %r = stablehlo.sqrt %x : tensor<6xf32>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, 1.4142135, 100000.0, 0.5477226]> : tensor<6xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, 4.0, 2.0, 10000000000.0, 0.3]> : tensor<6xf64>
  %r = stablehlo.sqrt %x : tensor<6xf64>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, 1.4142135623730951, 100000.0, 0.5477225575051661]> : tensor<6xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<6xf64>, tensor<6xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 1.0, 4.0, 2.0, 0.300048828125]> : tensor<5xf16>
  %r = stablehlo.sqrt %x : tensor<5xf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, 1.4140625, 0.5478515625]> : tensor<5xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xf16>, tensor<5xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 1.0, 4.0, 2.0, 0.30078125]> : tensor<5xbf16>
  %r = stablehlo.sqrt %x : tensor<5xbf16>
  %expected1 = stablehlo.constant dense<[0.0, 1.0, 2.0, 1.4140625, 0.546875]> : tensor<5xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<5xbf16>, tensor<5xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, -1.0, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.sqrt %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.sqrt %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.72767335, 0.17178038), (0.78615135, 1.2720196), (1.2603672, -0.29753235)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.sqrt %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.7276733451126774, 0.17178037486125622), (0.7861513777574233, 1.272019649514069), (1.2603672050487593, -0.2975323370029233)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
