// The branch of an index; the last one for indices that have none.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @index_0() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %x = stablehlo.constant dense<1> : tensor<i64>
  %y = stablehlo.constant dense<3> : tensor<i64>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.add %x, %x : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.subtract %x, %y : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r, dense<2> : tensor<i64>
  func.return
}

// -----

func.func @index_1() {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %x = stablehlo.constant dense<1> : tensor<i64>
  %y = stablehlo.constant dense<3> : tensor<i64>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.add %x, %x : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.subtract %x, %y : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r, dense<-2> : tensor<i64>
  func.return
}

// -----

func.func @index_7() {
  %i = stablehlo.constant dense<7> : tensor<i32>
  %x = stablehlo.constant dense<1> : tensor<i64>
  %y = stablehlo.constant dense<3> : tensor<i64>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.add %x, %x : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.subtract %x, %y : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r, dense<-2> : tensor<i64>
  func.return
}

// -----

func.func @index_minus_1() {
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %x = stablehlo.constant dense<1> : tensor<i64>
  %y = stablehlo.constant dense<3> : tensor<i64>
  %r = "stablehlo.case"(%i) ({
    %a = stablehlo.add %x, %x : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.subtract %x, %y : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %r, dense<-2> : tensor<i64>
  func.return
}
