// Einstein's summation of one operand.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @sum_of_rows() {
  %x = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %r = "stablehlo.unary_einsum"(%x) {einsum_config = "ij->i"} : (tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[3.0, 7.0]> : tensor<2xf32>
  func.return
}
