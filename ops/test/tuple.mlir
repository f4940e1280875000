// Values together, and one of them again.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @nested() {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %y = stablehlo.constant dense<7> : tensor<i32>
  %t = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<i32>>
  %u = stablehlo.tuple %t, %y : tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>>
  %v = stablehlo.get_tuple_element %u[0] : (tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>>) -> tuple<tensor<2xf32>, tensor<i32>>
  %r = stablehlo.get_tuple_element %v[0] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<2xf32>
  %s = stablehlo.get_tuple_element %u[1] : (tuple<tuple<tensor<2xf32>, tensor<i32>>, tensor<i32>>) -> tensor<i32>
  check.expect_eq_const %r, dense<[1.0, 2.0]> : tensor<2xf32>
  check.expect_eq_const %s, dense<7> : tensor<i32>
  func.return
}
