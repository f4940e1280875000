// Tangents.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xf32>
  %r = chlo.tan %x : tensor<4xf32> -> tensor<4xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.5463025, -1.5574077, -0.14254655]> : tensor<4xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 3.0]> : tensor<4xf64>
  %r = chlo.tan %x : tensor<4xf64> -> tensor<4xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.5463024898437905, -1.5574077246549023, -0.1425465430742778]> : tensor<4xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<4xf64>, tensor<4xf64>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f32>>
  %r = chlo.tan %x : tensor<3xcomplex<f32>> -> tensor<3xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.5045007, 0.3124207), (-0.033812825, 1.0147936), (0.10358062, -1.562869)]> : tensor<3xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>
  func.return
}

// -----

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.0, 2.0), (1.5, -0.75)]> : tensor<3xcomplex<f64>>
  %r = chlo.tan %x : tensor<3xcomplex<f64>> -> tensor<3xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.504500702698564, 0.31242069250258875), (-0.0338128260798967, 1.0147936161466335), (0.10358061868779707, -1.5628689818694739)]> : tensor<3xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>
  func.return
}
