// The greatest of each row, the first ones of equal ones.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @rows() {
  %x = stablehlo.constant dense<[[1.0, 5.0, 3.0, 5.0], [-1.0, -2.0, -3.0, -4.0]]> : tensor<2x4xf32>
  %v, %i = chlo.top_k(%x, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  check.expect_eq_const %v, dense<[[5.0, 5.0], [-1.0, -2.0]]> : tensor<2x2xf32>
  check.expect_eq_const %i, dense<[[1, 3], [0, 1]]> : tensor<2x2xi32>
  func.return
}

// -----

func.func @integers() {
  %x = stablehlo.constant dense<[4, -9, 30000, 4, 7]> : tensor<5xi16>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<5xi16> -> (tensor<3xi16>, tensor<3xi32>)
  check.expect_eq_const %v, dense<[30000, 7, 4]> : tensor<3xi16>
  check.expect_eq_const %i, dense<[2, 4, 0]> : tensor<3xi32>
  func.return
}
