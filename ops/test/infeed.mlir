// Nobody feeds a program here: an error says so. The evaluator does, in grid/infeed.mlir.
// RUN: not isthmus-run %s --backend cpu 2>&1 | FileCheck %s
// CHECK: stablehlo.infeed

func.func @main() -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  return %r#0 : tensor<2xf32>
}
