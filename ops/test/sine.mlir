// Sines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, 100.25]> : tensor<5xf32>
  %r = stablehlo.sine %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.47942555, -0.84147096, 0.14112, -0.27728286]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, 100.25]> : tensor<5xf64>
  %r = stablehlo.sine %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.479425538604203, -0.8414709848078965, 0.1411200080598672, -0.2772828564548513]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xf16>
  %r = stablehlo.sine %x : tensor<4xf16>
  %expected1 = stablehlo.constant dense<[0.0, 0.4794921875, -0.84130859375, 0.14111328125]> : tensor<4xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xf16>, tensor<4xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xbf16>
  %r = stablehlo.sine %x : tensor<4xbf16>
  %expected1 = stablehlo.constant dense<[0.0, 0.478515625, -0.83984375, 0.1416015625]> : tensor<4xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xbf16>, tensor<4xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0x7FC00000, -0.0]> : tensor<3xf32>
  %r = stablehlo.sine %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7FC00000, -0.0]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.sine %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.4944858, 0.22168817), (-3.1657784, 1.959601), (1.2914401, -0.058168385)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.sine %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.494485780933195, 0.22168816414957482), (-3.165778513216168, 1.9596010414216063), (1.2914400857052224, -0.058168384501671194)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}

// -----

// e^89 is infinite, half of it is not.
func.func @complex_near_overflow_f32() {
  %x = stablehlo.constant dense<[(0.5, 89.0), (1.25, -89.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.sine %x : tensor<2xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.0762175e+38, 1.9700029e+38), (2.1302868e+38, -7.0783764e+37)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @complex_near_overflow_f64() {
  %x = stablehlo.constant dense<[(0.5, 710.125), (1.25, -710.125)]> : tensor<2xcomplex<f64>>
  %r = stablehlo.sine %x : tensor<2xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(6.068203417311033e+307, 1.1107771848241388e+308), (1.2011524723765923e+308, -3.991110366402961e+307)]> : tensor<2xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}

// -----

func.func @complex_with_infinite_factors_f32() {
  %x = stablehlo.constant dense<[(0.125, 90.25), (-0.0078125, -91.0), (3.140625, 89.5)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.sine %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(9.768445551045603e+37, 0x7F800000), (-1.2958461919387458e+37, 0xFF800000), (3.5813434995976646e+35, 0xFF800000)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_with_infinite_factors_f64() {
  %x = stablehlo.constant dense<[(0.125, 711.5), (-0.0078125, -714.25), (3.140625, 710.5)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.sine %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(6.241260743727507e+307, 0x7FF0000000000000), (-6.117716058419577e+307, 0xFFF0000000000000), (1.782047356618539e+305, 0xFFF0000000000000)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
