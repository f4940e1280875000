// The evaluator feeds what functions give, one after the other.
// RUN: isthmus-run %s --split --quiet

func.func private @reads(%t: !stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>) {
  %a, %t1 = "stablehlo.infeed"(%t) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  %b, %t2 = "stablehlo.infeed"(%t1) : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  return %a, %b : tensor<2xi64>, tensor<2xi64>
}
func.func private @first() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func private @second() -> tensor<2xi64> {
  %0 = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
  return %0 : tensor<2xi64>
}
func.func @main() {
  %t = stablehlo.after_all : !stablehlo.token
  %r:2 = "interpreter.run_parallel"(%t) {infeed = [@first, @second], programs = [[@reads]]} : (!stablehlo.token) -> (tensor<2xi64>, tensor<2xi64>)
  check.expect_eq_const %r#0, dense<[1, 2]> : tensor<2xi64>
  check.expect_eq_const %r#1, dense<[3, 4]> : tensor<2xi64>
  func.return
}
