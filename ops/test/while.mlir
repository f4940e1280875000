// As long as the condition holds, with values carried and values from outside; not at all.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @times_5() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = "stablehlo.while"(%i, %s, %p) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>):
    %go = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>):
    %a1 = stablehlo.add %a, %one : tensor<i32>
    %b1 = stablehlo.add %b, %a1 : tensor<i32>
    %c1 = stablehlo.add %c, %c : tensor<i64>
    stablehlo.return %a1, %b1, %c1 : tensor<i32>, tensor<i32>, tensor<i64>
  }) : (tensor<i32>, tensor<i32>, tensor<i64>) -> (tensor<i32>, tensor<i32>, tensor<i64>)
  check.expect_eq_const %r#0, dense<5> : tensor<i32>
  check.expect_eq_const %r#1, dense<15> : tensor<i32>
  check.expect_eq_const %r#2, dense<32> : tensor<i64>
  func.return
}

// -----

func.func @times_0() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = "stablehlo.while"(%i, %s, %p) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>):
    %go = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %go : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>):
    %a1 = stablehlo.add %a, %one : tensor<i32>
    %b1 = stablehlo.add %b, %a1 : tensor<i32>
    %c1 = stablehlo.add %c, %c : tensor<i64>
    stablehlo.return %a1, %b1, %c1 : tensor<i32>, tensor<i32>, tensor<i64>
  }) : (tensor<i32>, tensor<i32>, tensor<i64>) -> (tensor<i32>, tensor<i32>, tensor<i64>)
  check.expect_eq_const %r#0, dense<0> : tensor<i32>
  check.expect_eq_const %r#1, dense<0> : tensor<i32>
  check.expect_eq_const %r#2, dense<1> : tensor<i64>
  func.return
}
