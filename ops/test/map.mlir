// A function of each element.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @product_and_sum() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi64>
  %y = stablehlo.constant dense<[4, 5, 6]> : tensor<3xi64>
  %r = "stablehlo.map"(%x, %y) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %c = stablehlo.multiply %a, %b : tensor<i64>
    %d = stablehlo.add %c, %a : tensor<i64>
    stablehlo.return %d : tensor<i64>
  }) {dimensions = array<i64: 0>} : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  check.expect_eq_const %r, dense<[5, 12, 21]> : tensor<3xi64>
  func.return
}
