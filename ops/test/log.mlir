// Natural logarithms.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 0.5, 2.5, 1.0e+10, 1.0e-10]> : tensor<5xf32>
  %r = stablehlo.log %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, -0.6931472, 0.91629076, 23.02585, -23.02585]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 0.5, 2.5, 10000000000.0, 1.0e-10]> : tensor<5xf64>
  %r = stablehlo.log %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, -0.6931471805599453, 0.9162907318741551, 23.025850929940457, -23.025850929940457]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[1.0, 0.5, 2.5, 0.0]> : tensor<4xf16>
  %r = stablehlo.log %x : tensor<4xf16>
  %expected1 = stablehlo.constant dense<[0.0, -0.693359375, 0.91650390625, 0xFC00]> : tensor<4xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xf16>, tensor<4xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[1.0, 0.5, 2.5, 1.000444171950221e-10]> : tensor<4xbf16>
  %r = stablehlo.log %x : tensor<4xbf16>
  %expected1 = stablehlo.constant dense<[0.0, -0.69140625, 0.91796875, -23.0]> : tensor<4xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xbf16>, tensor<4xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0.0, -1.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %r = stablehlo.log %x : tensor<4xf32>
  check.expect_eq_const %r, dense<[0xFF800000, 0x7FC00000, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.log %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(-0.5815754, 0.4636476), (0.804719, 2.0344439), (0.51703686, -0.4636476)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.log %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(-0.5815754049028404, 0.4636476090008061), (0.8047189562170503, 2.0344439357957027), (0.5170368837652692, -0.4636476090008061)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
