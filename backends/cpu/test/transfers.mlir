// RUN: not isthmus-run --backend cpu --split %s 2>&1 | FileCheck %s

// CHECK: stablehlo.infeed {{.*}}the PJRT C API has no call that feeds a running program
func.func @infeed() -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %r#0 : tensor<2xf32>
}

// -----

// CHECK: stablehlo.send {{.*}}send and recv need transfer callbacks of the caller
func.func @send() -> !stablehlo.token {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %t = stablehlo.create_token : !stablehlo.token
  %s = "stablehlo.send"(%x, %t) {channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true} : (tensor<f32>, !stablehlo.token) -> !stablehlo.token
  return %s : !stablehlo.token
}
