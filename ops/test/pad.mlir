// Low, high and between elements; negative amounts cut off.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @around_and_between() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %p = stablehlo.constant dense<9> : tensor<i32>
  %r = stablehlo.pad %x, %p, low = [0, 1], high = [1, 0], interior = [0, 1] : (tensor<2x2xi32>, tensor<i32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[9, 1, 9, 2], [9, 3, 9, 4], [9, 9, 9, 9]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @cuts_off() {
  %x = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %p = stablehlo.constant dense<-1.0> : tensor<f32>
  %r = stablehlo.pad %x, %p, low = [-1], high = [2], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  check.expect_eq_const %r, dense<[2.0, 3.0, -1.0, -1.0]> : tensor<4xf32>
  func.return
}
