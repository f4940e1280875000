// The operands themselves.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @several() {
  %x = stablehlo.constant dense<1.5> : tensor<f32>
  %y = stablehlo.constant dense<[1, 2]> : tensor<2xi8>
  %r:2 = stablehlo.optimization_barrier %x, %y : tensor<f32>, tensor<2xi8>
  check.expect_eq_const %r#0, dense<1.5> : tensor<f32>
  check.expect_eq_const %r#1, dense<[1, 2]> : tensor<2xi8>
  func.return
}
