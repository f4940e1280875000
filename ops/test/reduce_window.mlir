// Windows combined: sums, strides, dilations, padding, and prefix sums.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @sums_of_pairs() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>} : (tensor<3x4xi32>, tensor<i32>) -> tensor<3x2xi32>
  check.expect_eq_const %r, dense<[[1, 5], [9, 13], [17, 21]]> : tensor<3x2xi32>
  func.return
}

// -----

func.func @padded_and_dilated() {
  %x = stablehlo.constant dense<[1.0, 3.0, 2.0]> : tensor<3xf32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 2>, window_strides = array<i64: 1>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>, padding = dense<[[2, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
  check.expect_eq_const %r, dense<[1.0, 0xFF800000, 3.0, 0xFF800000, 3.0, 0xFF800000]> : tensor<6xf32>
  func.return
}

// -----

func.func @prefix_sums() {
  %x = stablehlo.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %r = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %c : tensor<i64>
  }) {window_dimensions = array<i64: 5>, padding = dense<[[4, 0]]> : tensor<1x2xi64>} : (tensor<5xi64>, tensor<i64>) -> tensor<5xi64>
  check.expect_eq_const %r, dense<[1, 3, 6, 10, 15]> : tensor<5xi64>
  func.return
}
