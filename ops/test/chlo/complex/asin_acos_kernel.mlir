// What complex inverse sines are made of: sqrt(a^2 - x^2) + i log(a + sqrt(a^2 - 1)), where a is the
// mean of |z + 1| and |z - 1|. Expected values by decimals of 400 digits.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @complex_f64() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.5, 2.0), (3.0, -0.125), (1.0, 1.0e-8), (0.0, -1.0), (1.0, 0.0), (1.0000001, 1.0e-20), (1.0e120, 2.0)]> : tensor<8xcomplex<f64>>
  %r = chlo._asin_acos_kernel %x : tensor<8xcomplex<f64>> -> tensor<8xcomplex<f64>>
  %expected1 = stablehlo.constant dense<[(0.9117543273261622, 0.2813960562452928), (2.1621967291648145, 1.6224941488715938), (0.13256637550733788, 1.7637816499875794), (1.0000000025e-4, 1.0000000008333333e-4), (1.4142135623730951, 0.881373587019543), (0.0, 0.0), (2.236068144552101e-17, 4.472135919037347e-4), (2.0, 277.0033583398454)]> : tensor<8xcomplex<f64>>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<8xcomplex<f64>>, tensor<8xcomplex<f64>>
  func.return
}

// -----

func.func @complex_f32() {
  %x = stablehlo.constant dense<[(0.5, 0.25), (-1.5, 2.0), (3.0, -0.125), (1.0, 1.0e-8)]> : tensor<4xcomplex<f32>>
  %r = chlo._asin_acos_kernel %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  %expected1 = stablehlo.constant dense<[(0.9117543273261622, 0.2813960562452928), (2.1621967291648145, 1.6224941488715938), (0.13256637550733788, 1.7637816499875794), (1.0000000025e-4, 1.0000000008333333e-4)]> : tensor<4xcomplex<f32>>
  check.expect_close %r, %expected1, max_ulp_difference = 1 : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
  func.return
}
