// x of a x = b or x a = b, for either triangle, transposed, with ones on the diagonal.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @lower() {
  %a = stablehlo.constant dense<[[2.0, 77.0, 77.0], [1.0, 4.0, 77.0], [-1.0, 2.0, 5.0]]> : tensor<3x3xf64>
  %b = stablehlo.constant dense<[[2.0, 4.0], [9.0, -2.0], [3.0, 1.0]]> : tensor<3x2xf64>
  %r = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf64>, tensor<3x2xf64>) -> tensor<3x2xf64>
  %expected1 = stablehlo.constant dense<[[1.0, 2.0], [2.0, -1.0], [0.0, 1.0]]> : tensor<3x2xf64>
  check.expect_close %r, %expected1, max_ulp_difference = 8 : tensor<3x2xf64>, tensor<3x2xf64>
  func.return
}

// -----

func.func @right_upper_unit_transposed() {
  %a = stablehlo.constant dense<[[2.0, 1.0, -1.0], [0.0, 4.0, 2.0], [0.0, 0.0, 5.0]]> : tensor<3x3xf32>
  %b = stablehlo.constant dense<[[2.0, 9.0, 3.0], [4.0, -2.0, 1.0]]> : tensor<2x3xf32>
  %r = "stablehlo.triangular_solve"(%a, %b) {left_side = false, lower = false, unit_diagonal = true, transpose_a = #stablehlo<transpose TRANSPOSE>} : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %expected1 = stablehlo.constant dense<[[2.0, 3.0, 3.0], [9.0, -4.0, 1.0]]> : tensor<2x3xf32>
  check.expect_close %r, %expected1, max_ulp_difference = 8 : tensor<2x3xf32>, tensor<2x3xf32>
  func.return
}

// -----

func.func @adjoint() {
  %a = stablehlo.constant dense<[[(2.0, 0.0), (0.0, 0.0)], [(0.0, 1.0), (1.0, 1.0)]]> : tensor<2x2xcomplex<f64>>
  %b = stablehlo.constant dense<[[(2.0, 2.0)], [(1.0, -1.0)]]> : tensor<2x1xcomplex<f64>>
  %r = "stablehlo.triangular_solve"(%a, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose ADJOINT>} : (tensor<2x2xcomplex<f64>>, tensor<2x1xcomplex<f64>>) -> tensor<2x1xcomplex<f64>>
  check.expect_almost_eq_const %r, dense<[[(1.0, 1.5)], [(1.0, 0.0)]]> : tensor<2x1xcomplex<f64>>, tolerance = 1.0e-9
  func.return
}
