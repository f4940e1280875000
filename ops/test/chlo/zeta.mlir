// Hurwitz's zeta function.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[2.0, 3.5, 5.0]> : tensor<3xf32>
  %y = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf32>
  %r = chlo.zeta %x, %y : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %expected1 = stablehlo.constant dense<[1.644934, 0.12673387, 32.14476]> : tensor<3xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xf32>, tensor<3xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[2.0, 3.5, 5.0]> : tensor<3xf64>
  %y = stablehlo.constant dense<[1.0, 2.0, 0.5]> : tensor<3xf64>
  %r = chlo.zeta %x, %y : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
  %expected1 = stablehlo.constant dense<[1.6449340668482266, 0.12673386731705663, 32.144760409444494]> : tensor<3xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 16 : tensor<3xf64>, tensor<3xf64>
  func.return
}
