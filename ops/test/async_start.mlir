// An operation that begins now and is waited for later.
// RUN: isthmus-run %s
// RUN: isthmus-run %s --backend cpu

func.func @waits() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "stablehlo.async_start"(%x) ({
  ^bb0(%y: tensor<2xf32>):
    %1 = "stablehlo.all_reduce"(%y) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    stablehlo.return %1 : tensor<2xf32>
  }) : (tensor<2xf32>) -> !stablehlo.future<tensor<2xf32>>
  %3 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<2xf32>>) -> tensor<2xf32>
  check.expect_eq_const %3, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}
