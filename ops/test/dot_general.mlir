// Batched contractions over any dimensions, of every kind of number.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @batched() {
  %x = stablehlo.constant dense<[[[-11.0, -10.0, -9.0, -8.0], [-7.0, -6.0, -5.0, -4.0], [-3.0, -2.0, -1.0, 0.0]], [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]]> : tensor<2x3x4xf32>
  %y = stablehlo.constant dense<[[[-4.0, -3.0, -2.0, -1.0, 0.0], [1.0, 2.0, 3.0, 4.0, -4.0]], [[-3.0, -2.0, -1.0, 0.0, 1.0], [2.0, 3.0, 4.0, -4.0, -3.0]], [[-2.0, -1.0, 0.0, 1.0, 2.0], [3.0, 4.0, -4.0, -3.0, -2.0]], [[-1.0, 0.0, 1.0, 2.0, 3.0], [4.0, -4.0, -3.0, -2.0, -1.0]]]> : tensor<4x2x5xf32>
  %r = stablehlo.dot_general %x, %y, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<2x3x4xf32>, tensor<4x2x5xf32>) -> tensor<2x3x5xf32>
  check.expect_eq_const %r, dense<[[[100.0, 62.0, 24.0, -14.0, -52.0], [60.0, 38.0, 16.0, -6.0, -28.0], [20.0, 14.0, 8.0, 2.0, -4.0]], [[30.0, 4.0, -13.0, -21.0, -20.0], [70.0, 24.0, -13.0, -41.0, -60.0], [110.0, 44.0, -13.0, -61.0, -100.0]]]> : tensor<2x3x5xf32>
  func.return
}

// -----

func.func @two_dimensions() {
  %x = stablehlo.constant dense<[[[-11, -10, -9, -8], [-7, -6, -5, -4], [-3, -2, -1, 0]], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]]> : tensor<2x3x4xi64>
  %y = stablehlo.constant dense<[[[-4, -3, -2, -1, 0], [1, 2, 3, 4, -4]], [[-3, -2, -1, 0, 1], [2, 3, 4, -4, -3]], [[-2, -1, 0, 1, 2], [3, 4, -4, -3, -2]], [[-1, 0, 1, 2, 3], [4, -4, -3, -2, -1]]]> : tensor<4x2x5xi64>
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0, 2] x [1, 0] : (tensor<2x3x4xi64>, tensor<4x2x5xi64>) -> tensor<3x5xi64>
  check.expect_eq_const %r, dense<[[130, 66, 11, -35, -72], [130, 62, 3, -47, -88], [130, 58, -5, -59, -104]]> : tensor<3x5xi64>
  func.return
}

// -----

func.func @outer_product() {
  %x = stablehlo.constant dense<[(1.0, 1.0), (2.0, 0.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.constant dense<[(0.0, 1.0), (3.0, 0.0)]> : tensor<2xcomplex<f32>>
  %r = stablehlo.dot_general %x, %y, contracting_dims = [] x [] : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2x2xcomplex<f32>>
  check.expect_eq_const %r, dense<[[(-1.0, 1.0), (3.0, 3.0)], [(0.0, 2.0), (6.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  func.return
}

// -----

func.func @wider_result() {
  %x = stablehlo.constant dense<[100, 100, -100]> : tensor<3xi8>
  %y = stablehlo.constant dense<[100, 100, 50]> : tensor<3xi8>
  %r = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xi8>, tensor<3xi8>) -> tensor<i32>
  check.expect_eq_const %r, dense<15000> : tensor<i32>
  func.return
}

// -----

func.func @of_nothing() {
  %x = stablehlo.constant dense<> : tensor<2x0xf64>
  %y = stablehlo.constant dense<> : tensor<0x3xf64>
  %r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x0xf64>, tensor<0x3xf64>) -> tensor<2x3xf64>
  check.expect_eq_const %r, dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf64>
  func.return
}
