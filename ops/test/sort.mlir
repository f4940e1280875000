// By a comparator, along a dimension, stable, with what goes along.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @with_what_goes_along() {
  %x = stablehlo.constant dense<[3, 1, 2, 1, 3]> : tensor<5xi32>
  %y = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %r:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<5xi32>, tensor<5xf32>) -> (tensor<5xi32>, tensor<5xf32>)
  check.expect_eq_const %r#0, dense<[1, 1, 2, 3, 3]> : tensor<5xi32>
  check.expect_eq_const %r#1, dense<[2.0, 4.0, 3.0, 1.0, 5.0]> : tensor<5xf32>
  func.return
}

// -----

func.func @columns_descending() {
  %x = stablehlo.constant dense<[[1.0, -0.0], [0x7FF8000000000000, 0.0], [3.0, 0xFFF0000000000000]]> : tensor<3x2xf64>
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %p = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64, is_stable = false} : (tensor<3x2xf64>) -> tensor<3x2xf64>
  check.expect_eq_const %r, dense<[[0x7FF8000000000000, 0.0], [3.0, -0.0], [1.0, 0xFFF0000000000000]]> : tensor<3x2xf64>
  func.return
}
