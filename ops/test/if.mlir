// One branch or the other.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @yes() {
  %p = stablehlo.constant dense<true> : tensor<i1>
  %x = stablehlo.constant dense<1.5> : tensor<f32>
  %y = stablehlo.constant dense<[0, 5]> : tensor<2xi8>
  %r:2 = "stablehlo.if"(%p) ({
    stablehlo.return %x, %y : tensor<f32>, tensor<2xi8>
  }, {
    %n = stablehlo.negate %x : tensor<f32>
    %m = stablehlo.not %y : tensor<2xi8>
    stablehlo.return %n, %m : tensor<f32>, tensor<2xi8>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<2xi8>)
  check.expect_eq_const %r#0, dense<1.5> : tensor<f32>
  check.expect_eq_const %r#1, dense<[0, 5]> : tensor<2xi8>
  func.return
}

// -----

func.func @no() {
  %p = stablehlo.constant dense<false> : tensor<i1>
  %x = stablehlo.constant dense<1.5> : tensor<f32>
  %y = stablehlo.constant dense<[0, 5]> : tensor<2xi8>
  %r:2 = "stablehlo.if"(%p) ({
    stablehlo.return %x, %y : tensor<f32>, tensor<2xi8>
  }, {
    %n = stablehlo.negate %x : tensor<f32>
    %m = stablehlo.not %y : tensor<2xi8>
    stablehlo.return %n, %m : tensor<f32>, tensor<2xi8>
  }) : (tensor<i1>) -> (tensor<f32>, tensor<2xi8>)
  check.expect_eq_const %r#0, dense<-1.5> : tensor<f32>
  check.expect_eq_const %r#1, dense<[-1, -6]> : tensor<2xi8>
  func.return
}
