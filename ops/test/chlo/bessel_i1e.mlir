// The modified Bessel function of order 1, times e^-|x|.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, 100.0]> : tensor<5xf32>
  %r = chlo.bessel_i1e %x : tensor<5xf32> -> tensor<5xf32>
  %expected1 = stablehlo.constant dense<[0.0, 0.1564208, -0.20791042, 0.121262684, 0.039744154]> : tensor<5xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf32>, tensor<5xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0, 100.0]> : tensor<5xf64>
  %r = chlo.bessel_i1e %x : tensor<5xf64> -> tensor<5xf64>
  %expected1 = stablehlo.constant dense<[0.0, 0.15642080318487173, -0.2079104153497085, 0.1212626813844555, 0.03974415302513025]> : tensor<5xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<5xf64>, tensor<5xf64>
  func.return
}
