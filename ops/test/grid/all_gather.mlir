// Among two replicas.
// RUN: isthmus-run %s --split --quiet

func.func private @each(%x: tensor<2xf32>) -> tensor<4xf32> {
  %r = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @main() {
  %x0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %x1 = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %r:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@each], [@each]]} : (tensor<2xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  check.expect_eq_const %r#0, dense<[1.0, 2.0, 10.0, 20.0]> : tensor<4xf32>
  check.expect_eq_const %r#1, dense<[1.0, 2.0, 10.0, 20.0]> : tensor<4xf32>
  func.return
}
