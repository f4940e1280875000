// Nobody takes what a program puts out: an error says so.
// RUN: not isthmus-run %s --backend cpu 2>&1 | FileCheck %s
// CHECK: stablehlo.outfeed

func.func @main() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %t = stablehlo.create_token : !stablehlo.token
  %r = "stablehlo.outfeed"(%x, %t) {outfeed_config = ""} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %x : tensor<2xf32>
}
