// Channels between programs are not there: an error says so. The evaluator has them, in grid/send.mlir.
// RUN: not isthmus-run %s --backend cpu 2>&1 | FileCheck %s
// CHECK: stablehlo.recv

func.func @main() -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.recv"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %r#0 : tensor<2xf32>
}
