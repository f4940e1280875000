// From one program to another.
// RUN: isthmus-run %s --split --quiet

func.func private @sends(%x: tensor<2xi64>, %t: !stablehlo.token) -> !stablehlo.token {
  %r = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2xi64>, !stablehlo.token) -> !stablehlo.token
  return %r : !stablehlo.token
}
func.func private @receives(%t: !stablehlo.token) -> (tensor<2xi64>, !stablehlo.token) {
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xi64>, !stablehlo.token)
  return %r#0, %r#1 : tensor<2xi64>, !stablehlo.token
}
func.func @main() {
  %x = stablehlo.constant dense<[5, -6]> : tensor<2xi64>
  %t = stablehlo.after_all : !stablehlo.token
  %r:3 = "interpreter.run_parallel"(%x, %t, %t) {programs = [[@sends], [@receives]]} : (tensor<2xi64>, !stablehlo.token, !stablehlo.token) -> (!stablehlo.token, tensor<2xi64>, !stablehlo.token)
  check.expect_eq_const %r#1, dense<[5, -6]> : tensor<2xi64>
  func.return
}
