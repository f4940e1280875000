// JAX's dce_sink uses its operand and does nothing.
// RUN: isthmus-run --backend cpu --quiet %s

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.add %x, %x : tensor<f32>
  stablehlo.custom_call @dce_sink(%y) {has_side_effect = true} : (tensor<f32>) -> ()
  check.expect_eq_const %y, dense<2.0> : tensor<f32>
  func.return
}
