// The triangular factor; the other triangle is not looked at.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @lower() {
  %x = stablehlo.constant dense<[[4.0, 99.0, 99.0], [2.0, 5.0, 99.0], [2.0, 3.0, 6.0]]> : tensor<3x3xf64>
  %mask = stablehlo.constant dense<[[true, false, false], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %z = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf64>
  %c = "stablehlo.cholesky"(%x) {lower = true} : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %r = stablehlo.select %mask, %c, %z : tensor<3x3xi1>, tensor<3x3xf64>
  %expected1 = stablehlo.constant dense<[[2.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.0, 2.0]]> : tensor<3x3xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<3x3xf64>, tensor<3x3xf64>
  func.return
}

// -----

func.func @upper() {
  %x = stablehlo.constant dense<[[4.0, 2.0, 2.0], [99.0, 5.0, 3.0], [99.0, 99.0, 6.0]]> : tensor<3x3xf64>
  %mask = stablehlo.constant dense<[[true, true, true], [false, true, true], [false, false, true]]> : tensor<3x3xi1>
  %z = stablehlo.constant dense<[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf64>
  %c = "stablehlo.cholesky"(%x) {lower = false} : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %r = stablehlo.select %mask, %c, %z : tensor<3x3xi1>, tensor<3x3xf64>
  %expected1 = stablehlo.constant dense<[[2.0, 1.0, 1.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]> : tensor<3x3xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 4 : tensor<3x3xf64>, tensor<3x3xf64>
  func.return
}
