// Assertions here; what has no target is an error that names it.
// RUN: isthmus-run %s --function asserts
// RUN: isthmus-run %s --function asserts --backend cpu
// RUN: not isthmus-run %s --function unknown 2>&1 | FileCheck %s
// RUN: not isthmus-run %s --function unknown --backend cpu 2>&1 | FileCheck %s
// CHECK: no_such_target

func.func @asserts() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  stablehlo.custom_call @check.expect_eq(%x, %y) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
  func.return
}

func.func @unknown() -> tensor<2xf32> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %r = stablehlo.custom_call @no_such_target(%x) : (tensor<2xf32>) -> tensor<2xf32>
  return %r : tensor<2xf32>
}
