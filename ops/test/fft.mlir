// Discrete Fourier transforms: complex, inverse, of real signals and back.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @forwards() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-1.0, 0.0), (0.0, 0.5), (3.0, -1.0)]> : tensor<4xcomplex<f64>>
  %r = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %r, dense<[(3.0, 1.5), (2.0, 5.5), (-1.0, 3.5), (0.0, -2.5)]> : tensor<4xcomplex<f64>>, tolerance = 1.0e-9
  func.return
}

// -----

func.func @backwards() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-1.0, 0.0), (0.0, 0.5), (3.0, -1.0)]> : tensor<4xcomplex<f64>>
  %r = stablehlo.fft %x, type = IFFT, length = [4] : (tensor<4xcomplex<f64>>) -> tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %r, dense<[(0.75, 0.375), (0.0, -0.625), (-0.25, 0.875), (0.5, 1.375)]> : tensor<4xcomplex<f64>>, tolerance = 1.0e-9
  func.return
}

// -----

func.func @real() {
  %x = stablehlo.constant dense<[1.0, 2.0, -1.0, 0.5, 3.0, 7.0]> : tensor<6xf64>
  %r = stablehlo.fft %x, type = RFFT, length = [6] : (tensor<6xf64>) -> tensor<4xcomplex<f64>>
  check.expect_almost_eq_const %r, dense<[(12.5, 0.0), (3.999999999999999, 7.794228634059947), (-3.999999999999999, 0.8660254037844384), (-6.5, 0.0)]> : tensor<4xcomplex<f64>>, tolerance = 1.0e-9
  func.return
}

// -----

func.func @back_to_real() {
  %x = stablehlo.constant dense<[(12.5, 0.0), (3.999999999999999, 7.794228634059947), (-3.999999999999999, 0.8660254037844384), (-6.5, 0.0)]> : tensor<4xcomplex<f64>>
  %r = stablehlo.fft %x, type = IRFFT, length = [6] : (tensor<4xcomplex<f64>>) -> tensor<6xf64>
  check.expect_almost_eq_const %r, dense<[1.0, 2.0, -1.0, 0.5, 3.0, 7.0]> : tensor<6xf64>, tolerance = 1.0e-9
  func.return
}

// -----

func.func @two_dimensions() {
  %x = stablehlo.constant dense<[[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], [(3.0, 1.0), (4.0, 1.0), (5.0, 1.0)]]> : tensor<2x3xcomplex<f32>>
  %r = stablehlo.fft %x, type = FFT, length = [2, 3] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
  check.expect_almost_eq_const %r, dense<[[(15.0, 6.0), (-3.0, 1.7320508), (-3.0, -1.7320508)], [(-9.0, 0.0), (0.0, 0.0), (0.0, 0.0)]]> : tensor<2x3xcomplex<f32>>, tolerance = 1.0e-5
  func.return
}

// -----

// No real values, of one complex value in each line or of none.
func.func @back_to_nothing() {
  %x = stablehlo.constant dense<[[(1.0, 2.0)], [(3.0, 4.0)], [(5.0, 6.0)]]> : tensor<3x1xcomplex<f32>>
  %r = stablehlo.fft %x, type = IRFFT, length = [3, 0] : (tensor<3x1xcomplex<f32>>) -> tensor<3x0xf32>
  check.expect_eq_const %r, dense<> : tensor<3x0xf32>
  %empty = stablehlo.constant dense<> : tensor<3x0xcomplex<f32>>
  %s = stablehlo.fft %empty, type = IRFFT, length = [0] : (tensor<3x0xcomplex<f32>>) -> tensor<3x0xf32>
  check.expect_eq_const %s, dense<> : tensor<3x0xf32>
  func.return
}
