// Matrix products, and those with vectors.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @matrices() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %y = stablehlo.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %r = stablehlo.dot %x, %y : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %r, dense<[[19.0, 22.0], [43.0, 50.0]]> : tensor<2x2xf32>
  func.return
}

// -----

func.func @vectors() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %r = stablehlo.dot %x, %y : (tensor<2xi32>, tensor<2xi32>) -> tensor<i32>
  check.expect_eq_const %r, dense<11> : tensor<i32>
  func.return
}
