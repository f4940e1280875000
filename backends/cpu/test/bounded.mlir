// Arrays of bounded size, compiled: sizes are arguments, known only when the program runs.
// RUN: isthmus-run --backend cpu --split --quiet %s

// e⁰ + e¹ of [0, 1, NaN]; the product of [1, 2, NaN] with itself; what lies beyond is not seen.
func.func @reductions_and_contractions() {
  %x = stablehlo.constant dense<[0.0, 1.0, 0x7FC00000]> : tensor<3xf32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %big = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>>
  %e = stablehlo.exponential %d : tensor<?xf32, #stablehlo.bounds<3>>
  %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<f32>) -> tensor<f32>
  check.expect_almost_eq_const %sum, dense<3.71828183> : tensor<f32>
  %max = stablehlo.reduce(%d init: %big) applies stablehlo.maximum across dimensions = [0] : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %max, dense<1.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %y = stablehlo.add %x, %one : tensor<3xf32>
  %z = stablehlo.set_dimension_size %y, %n, dim = 0 : (tensor<3xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<3>>
  %dot = stablehlo.dot_general %z, %z, contracting_dims = [0] x [0] : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<?xf32, #stablehlo.bounds<3>>) -> tensor<f32>
  check.expect_eq_const %dot, dense<5.0> : tensor<f32>
  func.return
}

// -----

// The size goes with the dimension through transposition, broadcasting and reshaping.
func.func @sizes_follow_dimensions() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x?xi32, #stablehlo.bounds<?, 3>>
  %t = stablehlo.transpose %d, dims = [1, 0] : (tensor<2x?xi32, #stablehlo.bounds<?, 3>>) -> tensor<?x2xi32, #stablehlo.bounds<3, ?>>
  %b = stablehlo.broadcast_in_dim %t, dims = [1, 2] : (tensor<?x2xi32, #stablehlo.bounds<3, ?>>) -> tensor<2x?x2xi32, #stablehlo.bounds<?, 3, ?>>
  %size = stablehlo.get_dimension_size %b, dim = 1 : (tensor<2x?x2xi32, #stablehlo.bounds<?, 3, ?>>) -> tensor<i32>
  check.expect_eq_const %size, dense<2> : tensor<i32>
  %columns = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x?xi32, #stablehlo.bounds<?, 3>>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %columns, dense<[3, 9]> : tensor<2xi32>
  %all = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x?x2xi32, #stablehlo.bounds<?, 3, ?>>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %all, dense<24> : tensor<i32>
  %r = stablehlo.reshape %t : (tensor<?x2xi32, #stablehlo.bounds<3, ?>>) -> tensor<?x1x2xi32, #stablehlo.bounds<3, ?, ?>>
  %rsize = stablehlo.get_dimension_size %r, dim = 0 : (tensor<?x1x2xi32, #stablehlo.bounds<3, ?, ?>>) -> tensor<i32>
  check.expect_eq_const %rsize, dense<2> : tensor<i32>
  func.return
}

// -----

// [1, 2] and [1, 2, 3] one behind the other; padded by one 9 before and two behind.
func.func @joins_where_operands_end() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %nine = stablehlo.constant dense<9> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<3>>
  %c = stablehlo.concatenate %d, %x, dim = 0 : (tensor<?xi32, #stablehlo.bounds<3>>, tensor<3xi32>) -> tensor<?xi32, #stablehlo.bounds<6>>
  %size = stablehlo.get_dimension_size %c, dim = 0 : (tensor<?xi32, #stablehlo.bounds<6>>) -> tensor<i32>
  check.expect_eq_const %size, dense<5> : tensor<i32>
  %six = stablehlo.constant dense<6> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %d, %nine, low = [1], high = [2], interior = [0] : (tensor<?xi32, #stablehlo.bounds<3>>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<6>>
  %both = stablehlo.subtract %c, %p : tensor<?xi32, #stablehlo.bounds<6>>
  // [1, 2, 1, 2, 3] - [9, 1, 2, 9, 9]
  %sum = stablehlo.reduce(%both init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xi32, #stablehlo.bounds<6>>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<-21> : tensor<i32>
  func.return
}

// -----

// A loop that halves the size, and a branch that gives sizes of its own.
func.func @sizes_change_in_control_flow() {
  %x = stablehlo.constant dense<1> : tensor<8xi32>
  %eight = stablehlo.constant dense<8> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.optimization_barrier %eight : tensor<i32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<8xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<8>>
  %i, %y = stablehlo.while(%step = %zero, %v = %d) : tensor<i32>, tensor<?xi32, #stablehlo.bounds<8>>
  cond {
    %limit = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.compare LT, %step, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %size = stablehlo.get_dimension_size %v, dim = 0 : (tensor<?xi32, #stablehlo.bounds<8>>) -> tensor<i32>
    %half = stablehlo.divide %size, %two : tensor<i32>
    %h = stablehlo.set_dimension_size %v, %half, dim = 0 : (tensor<?xi32, #stablehlo.bounds<8>>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<8>>
    %w = stablehlo.add %h, %h : tensor<?xi32, #stablehlo.bounds<8>>
    %next = stablehlo.add %step, %one : tensor<i32>
    stablehlo.return %next, %w : tensor<i32>, tensor<?xi32, #stablehlo.bounds<8>>
  }
  %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xi32, #stablehlo.bounds<8>>, tensor<i32>) -> tensor<i32>
  check.expect_eq_const %sum, dense<8> : tensor<i32>
  %small = stablehlo.compare LT, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %b = "stablehlo.if"(%small) ({
    stablehlo.return %d : tensor<?xi32, #stablehlo.bounds<8>>
  }, {
    stablehlo.return %y : tensor<?xi32, #stablehlo.bounds<8>>
  }) : (tensor<i1>) -> tensor<?xi32, #stablehlo.bounds<8>>
  %bsize = stablehlo.get_dimension_size %b, dim = 0 : (tensor<?xi32, #stablehlo.bounds<8>>) -> tensor<i32>
  check.expect_eq_const %bsize, dense<2> : tensor<i32>
  func.return
}

// -----

// Without a bound in the result's type the array is whole again.
func.func @sizes_can_be_taken_off() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3xi32>, tensor<i32>) -> tensor<?xi32, #stablehlo.bounds<3>>
  %w = stablehlo.set_dimension_size %d, %three, dim = 0 : (tensor<?xi32, #stablehlo.bounds<3>>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %w, dense<[1, 2, 3]> : tensor<3xi32>
  func.return
}
