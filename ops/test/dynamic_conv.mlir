// The padding is computed.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @pads() {
  %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %w = stablehlo.constant dense<[[[10.0, 1.0]]]> : tensor<1x1x2xf32>
  %p = stablehlo.constant dense<[[1, 1]]> : tensor<1x2xi64>
  %r = "stablehlo.dynamic_conv"(%x, %w, %p) {
    dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, feature_group_count = 1 : i64, batch_group_count = 1 : i64
  } : (tensor<1x1x3xf32>, tensor<1x1x2xf32>, tensor<1x2xi64>) -> tensor<1x1x4xf32>
  check.expect_eq_const %r, dense<[[[1.0, 12.0, 23.0, 30.0]]]> : tensor<1x1x4xf32>
  func.return
}
