// The end of a region, and what it gives: values from inside and outside.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @from_a_branch() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<1.5> : tensor<f32>
  %r:2 = "stablehlo.if"(%p) ({
    %n = stablehlo.negate %x : tensor<f32>
    stablehlo.return %n, %x : tensor<f32>, tensor<f32>
  }, {
    stablehlo.return %x, %x : tensor<f32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
  check.expect_eq_const %r#0, dense<-1.5> : tensor<f32>
  check.expect_eq_const %r#1, dense<1.5> : tensor<f32>
  func.return
}
