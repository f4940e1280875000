// The next number towards another.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[1.0, 1.0, 0.0, -1.0]> : tensor<4xf32>
  %y = stablehlo.constant dense<[2.0, 0.0, 1.0, -1.0]> : tensor<4xf32>
  %r = chlo.next_after %x, %y : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  check.expect_eq_const %r, dense<[1.0000001, 0.99999994, 1.0e-45, -1.0]> : tensor<4xf32>
  func.return
}

// -----

func.func @f64() {
  %x = stablehlo.constant dense<[1.0, 0.0]> : tensor<2xf64>
  %y = stablehlo.constant dense<[2.0, -1.0]> : tensor<2xf64>
  %r = chlo.next_after %x, %y : tensor<2xf64>, tensor<2xf64> -> tensor<2xf64>
  check.expect_eq_const %r, dense<[1.0000000000000002, -5.0e-324]> : tensor<2xf64>
  func.return
}
