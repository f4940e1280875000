// A number at each index of the operand.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @f32() {
  %x = stablehlo.constant dense<[7.0, 8.0]> : tensor<2xf32>
  %r = "chlo.constant_like"(%x) {value = 1.5 : f32} : (tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<1.5> : tensor<2xf32>
  func.return
}
