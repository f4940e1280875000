// Between bounds, given for each element or for all.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @scalar_bounds() {
  %low = stablehlo.constant dense<-1> : tensor<i32>
  %x = stablehlo.constant dense<[-5, 0, 3, 9]> : tensor<4xi32>
  %high = stablehlo.constant dense<4> : tensor<i32>
  %r = stablehlo.clamp %low, %x, %high : (tensor<i32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %r, dense<[-1, 0, 3, 4]> : tensor<4xi32>
  func.return
}

// -----

func.func @bounds_of_each() {
  %low = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %x = stablehlo.constant dense<[-5.0, 1.5, 9.0, 0x7FC00000]> : tensor<4xf32>
  %high = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = stablehlo.clamp %low, %x, %high : tensor<4xf32>
  check.expect_eq_const %r, dense<[0.0, 1.5, 3.0, 0x7FC00000]> : tensor<4xf32>
  func.return
}
