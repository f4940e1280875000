// Backwards along dimensions.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @both() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %a = stablehlo.reverse %x, dims = [1] : tensor<3x4xi32>
  %b = stablehlo.reverse %x, dims = [0, 1] : tensor<3x4xi32>
  check.expect_eq_const %a, dense<[[3, 2, 1, 0], [7, 6, 5, 4], [11, 10, 9, 8]]> : tensor<3x4xi32>
  check.expect_eq_const %b, dense<[[11, 10, 9, 8], [7, 6, 5, 4], [3, 2, 1, 0]]> : tensor<3x4xi32>
  func.return
}
