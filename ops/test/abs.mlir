// Absolute values, of complex numbers too; that of the least integer wraps.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @i8() {
  %x = stablehlo.constant dense<[-3, 0, 5, -128]> : tensor<4xi8>
  %r = stablehlo.abs %x : tensor<4xi8>
  check.expect_eq_const %r, dense<[3, 0, 5, -128]> : tensor<4xi8>
  func.return
}

// -----

func.func @i64() {
  %x = stablehlo.constant dense<[-3, 7]> : tensor<2xi64>
  %r = stablehlo.abs %x : tensor<2xi64>
  check.expect_eq_const %r, dense<[3, 7]> : tensor<2xi64>
  func.return
}

// -----

func.func @f32() {
  %x = stablehlo.constant dense<[-1.5, 0.25, -0.0, 0xFF800000]> : tensor<4xf32>
  %r = stablehlo.abs %x : tensor<4xf32>
  check.expect_eq_const %r, dense<[1.5, 0.25, 0.0, 0x7F800000]> : tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[-1.5, 0x7FF8000000000000]> : tensor<2xf64>
  %r = stablehlo.abs %x : tensor<2xf64>
  check.expect_eq_const %r, dense<[1.5, 0x7FF8000000000000]> : tensor<2xf64>
  func.return
}

// -----

func.func @bf16() {
  %x = stablehlo.constant dense<[-2.5, 3.0]> : tensor<2xbf16>
  %r = stablehlo.abs %x : tensor<2xbf16>
  check.expect_eq_const %r, dense<[2.5, 3.0]> : tensor<2xbf16>
  func.return
}

// -----

func.func @complex() {
  %x = stablehlo.constant dense<[(3.0, 4.0), (-5.0, 12.0), (0.0, 0.0)]> : tensor<3xcomplex<f32>>
  %r = stablehlo.abs %x : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %expected1 = stablehlo.constant dense<[5.0, 13.0, 0.0]> : tensor<3xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 2 : tensor<3xf32>, tensor<3xf32>
  func.return
}
