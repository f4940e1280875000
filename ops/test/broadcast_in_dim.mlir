// Operand dimensions put at dimensions of the result, those of size 1 repeated.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @rows() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %r = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[1, 2, 3], [1, 2, 3]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @columns() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @repeats_ones() {
  %x = stablehlo.constant dense<[[1, 2]]> : tensor<1x2xi32>
  %r = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<1x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %r, dense<[[1, 1, 1], [2, 2, 2]]> : tensor<2x3xi32>
  func.return
}

// -----

func.func @scalar_to_nothing() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %r = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<0x2xf32>
  check.expect_eq_const %r, dense<> : tensor<0x2xf32>
  func.return
}
