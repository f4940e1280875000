// Channels between programs are not there: an error says so. The evaluator has them, in grid/send.mlir.
// RUN: not isthmus-run %s --backend cpu 2>&1 | FileCheck %s
// CHECK: stablehlo.send

func.func @main() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %r = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
