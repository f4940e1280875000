// Blocks combined into an array at indices read from a tensor; windows that are not inside are left out.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @adds_rows() {
  %x = stablehlo.constant dense<[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]> : tensor<3x4xi32>
  %i = stablehlo.constant dense<[2, 2, 7]> : tensor<3xi32>
  %u = stablehlo.constant dense<[[1, 1, 1, 1], [10, 10, 10, 10], [100, 100, 100, 100]]> : tensor<3x4xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3x4xi32>, tensor<3xi32>, tensor<3x4xi32>) -> tensor<3x4xi32>
  check.expect_eq_const %r, dense<[[0, 1, 2, 3], [4, 5, 6, 7], [19, 20, 21, 22]]> : tensor<3x4xi32>
  func.return
}

// -----

func.func @replaces_a_block() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %i = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %u = stablehlo.constant dense<[[-1.0, -2.0], [-3.0, -4.0]]> : tensor<2x2xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 0>, indices_are_sorted = true, unique_indices = true} : (tensor<3x4xf32>, tensor<2xi32>, tensor<2x2xf32>) -> tensor<3x4xf32>
  check.expect_eq_const %r, dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, -1.0, -2.0], [8.0, 9.0, -3.0, -4.0]]> : tensor<3x4xf32>
  func.return
}

// -----

func.func @leaves_out_what_is_partly_outside() {
  %x = stablehlo.constant dense<[0, 0, 0, 0]> : tensor<4xi32>
  %i = stablehlo.constant dense<[[2], [3], [-1]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<[[1, 2], [10, 20], [100, 200]]> : tensor<3x2xi32>
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %c = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %c : tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4xi32>, tensor<3x1xi32>, tensor<3x2xi32>) -> tensor<4xi32>
  check.expect_eq_const %r, dense<[0, 0, 1, 2]> : tensor<4xi32>
  func.return
}

// -----

// An update that writes the same value everywhere.
func.func @constant_update() {
  %xc = stablehlo.constant dense<0.0> : tensor<4x100xf32>
  %kc = stablehlo.constant dense<5.0> : tensor<f32>
  %x, %k = stablehlo.optimization_barrier %xc, %kc : tensor<4x100xf32>, tensor<f32>
  %i = stablehlo.constant dense<[[1], [3]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<1.0> : tensor<2x100xf32>
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %k : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
      scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
      : (tensor<4x100xf32>, tensor<2x1xi32>, tensor<2x100xf32>) -> tensor<4x100xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%r init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x100xf32>, tensor<f32>) -> tensor<4xf32>
  check.expect_eq_const %s, dense<[0.0, 500.0, 0.0, 500.0]> : tensor<4xf32>
  func.return
}
