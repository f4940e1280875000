// A composite chlo.scan means what its region and attributes say: its decomposition by jaxlib forgets
// is_reverse.
// RUN: isthmus-run --backend cpu --quiet %s

func.func @main() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %init = stablehlo.constant dense<0> : tensor<i32>
  %y, %last = stablehlo.composite "chlo.scan" %x, %init ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s, %s : tensor<i32>, tensor<i32>
  }) {composite_attributes = {dimension = 0 : i64, is_reverse = true,
      operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>},
      decomposition = @wrong} : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  check.expect_eq_const %y, dense<[10, 9, 7, 4]> : tensor<4xi32>
  check.expect_eq_const %last, dense<10> : tensor<i32>
  func.return
}
func.func private @wrong(%x: tensor<4xi32>, %init: tensor<i32>) -> (tensor<4xi32>, tensor<i32>) {
  return %x, %init : tensor<4xi32>, tensor<i32>
}
