// Cosines.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, 100.25]> : tensor<5xf32>
  %r = stablehlo.cosine %x : tensor<5xf32>
  %expected1 = stablehlo.constant dense<[1.0, 0.87758255, 0.5403023, -0.9899925, 0.9607883]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0, 100.25]> : tensor<5xf64>
  %r = stablehlo.cosine %x : tensor<5xf64>
  %expected1 = stablehlo.constant dense<[1.0, 0.8775825618903728, 0.5403023058681398, -0.9899924966004454, 0.9607883312760612]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 3 : tensor<5xf64>, tensor<5xf64>
  func.return
}

// -----

func.func @f16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xf16>
  %r = stablehlo.cosine %x : tensor<4xf16>
  %expected1 = stablehlo.constant dense<[1.0, 0.87744140625, 0.54052734375, -0.990234375]> : tensor<4xf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xf16>, tensor<4xf16>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xbf16>
  %r = stablehlo.cosine %x : tensor<4xbf16>
  %expected1 = stablehlo.constant dense<[1.0, 0.87890625, 0.5390625, -0.98828125]> : tensor<4xbf16>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<4xbf16>, tensor<4xbf16>
  func.return
}

// -----

func.func @special_values() {
  %x = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<3xf32>
  %r = stablehlo.cosine %x : tensor<3xf32>
  check.expect_eq_const %r, dense<[0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.cosine %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.9051502, -0.12110879), (2.032723, 3.0518978), (0.091582276, 0.8202568)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.cosine %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.9051501505596068, -0.12110879604381165), (2.0327230070196656, 3.0518977991518), (0.09158227260398998, 0.8202568175066206)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}

// -----

// e^89 is infinite, half of it is not.
func.func @complex_near_overflow_f32() {
  %x = stablehlo.constant dense<[(0.5, 89.0), (1.25, -89.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.cosine %x : tensor<2xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(1.9700029e+38, -1.0762175e+38), (7.0783764e+37, 2.1302868e+38)]> : tensor<2xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @complex_near_overflow_f64() {
  %x = stablehlo.constant dense<[(0.5, 710.125), (1.25, -710.125)]> : tensor<2xcomplex<f64>>
  %r = stablehlo.cosine %x : tensor<2xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(1.1107771848241388e+308, -6.068203417311033e+307), (3.991110366402961e+307, 1.2011524723765923e+308)]> : tensor<2xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<2xcomplex<f64>>, tensor<2xcomplex<f64>>
  func.return
}

// -----

func.func @complex_with_infinite_factors_f32() {
  %x = stablehlo.constant dense<[(1.6953125, 90.25), (1.5625, -91.0), (1.5703125, 89.5)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.cosine %x : tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(-9.730830808315151e+37, 0xFF800000), (1.376095954071734e+37, 0x7F800000), (1.7906719478692386e+35, 0xFF800000)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_with_infinite_factors_f64() {
  %x = stablehlo.constant dense<[(1.6953125, 711.5), (1.5625, -714.25), (1.5703125, 710.5)]> : tensor<3xcomplex<f64>>
  %r = stablehlo.cosine %x : tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(-6.217228452348634e+307, 0xFFF0000000000000), (6.496576733389102e+307, 0x7FF0000000000000), (8.910237825984188e+304, 0xFFF0000000000000)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
