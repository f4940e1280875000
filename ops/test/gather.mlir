// Blocks at indices read from a tensor, moved to lie inside.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @rows() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 0, 9]> : tensor<3xi32>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 4>, indices_are_sorted = false
  } : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[8, 9, 10, 11], [0, 1, 2, 3], [8, 9, 10, 11]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @blocks() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %i = stablehlo.constant dense<[[0, 1], [5, -1]]> : tensor<2x2xi64>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [0, 1], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 2>, indices_are_sorted = false
  } : (tensor<3x4xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>
  check.expect_eq_const %r, dense<[[[1.0, 2.0], [5.0, 6.0]], [[4.0, 5.0], [8.0, 9.0]]]> : tensor<2x2x2xf32>
  func.return
}

// -----

func.func @batched() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[3, 0, 2]> : tensor<3xi32>
  %r = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>, indices_are_sorted = false
  } : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %r, dense<[3, 4, 10]> : tensor<3xi32>
  func.return
}
