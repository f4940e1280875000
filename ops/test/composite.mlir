// The meaning of its decomposition.
// RUN: isthmus-run %s --function calls_it
// RUN: isthmus-run %s --function calls_it --backend cpu

func.func private @square_plus(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.multiply %a, %a : tensor<2xf32>
  %1 = stablehlo.add %0, %b : tensor<2xf32>
  return %1 : tensor<2xf32>
}

func.func @calls_it() {
  %x = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %r = stablehlo.composite "my.square_plus" %x, %y {decomposition = @square_plus, version = 1 : i32} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[5.0, 8.0]> : tensor<2xf32>
  func.return
}
