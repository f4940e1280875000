// Operations of chlo, compiled and by the reference evaluator. Expected numbers are those of Python's
// math module.
// RUN: isthmus-run --backend cpu --split --quiet %s
// RUN: isthmus-run --backend reference --split --quiet %s

func.func @acos() {
  %x = stablehlo.constant dense<[-1.0, -0.5, 0.0, 0.75, 1.0, 1.5]> : tensor<6xf32>
  %y = chlo.acos %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[3.1415927410125732, 2.094395160675049, 1.5707963705062866, 0.722734272480011, 0.0, 0x7FC00000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @acosh() {
  %x = stablehlo.constant dense<[1.0, 1.0000001192092896, 2.5, 1.0000000150474662e+30, 0x7F800000, 0.5]> : tensor<6xf32>
  %y = chlo.acosh %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[0.0, 0.00048828125, 1.566799283027649, 69.77069854736328, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @asin() {
  %x = stablehlo.constant dense<[-1.0, -0.5, 9.999999974752427e-07, 0.75, 1.0, -1.5]> : tensor<6xf32>
  %y = chlo.asin %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[-1.5707963705062866, -0.5235987901687622, 9.999999974752427e-07, 0.8480620980262756, 1.5707963705062866, 0x7FC00000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @asinh() {
  %x = stablehlo.constant dense<[-1.0000000150474662e+30, -2.5, -9.999999974752427e-07, 9.999999974752427e-07, 0.75, 1.0000000150474662e+30]> : tensor<6xf32>
  %y = chlo.asinh %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[-69.77069854736328, -1.647231101989746, -9.999999974752427e-07, 9.999999974752427e-07, 0.6931471824645996, 69.77069854736328]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @atan() {
  %x = stablehlo.constant dense<[0xFF800000, -1.0, 9.999999974752427e-07, 3.0, 1.0000000150474662e+30, 0x7F800000]> : tensor<6xf32>
  %y = chlo.atan %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[-1.5707963705062866, -0.7853981852531433, 9.999999974752427e-07, 1.249045729637146, 1.5707963705062866, 1.5707963705062866]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @atanh() {
  %x = stablehlo.constant dense<[-1.0, -0.5, 9.999999974752427e-07, 0.75, 1.0, 1.5]> : tensor<6xf32>
  %y = chlo.atanh %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[0xFF800000, -0.5493061542510986, 9.999999974752427e-07, 0.972955048084259, 0x7F800000, 0x7FC00000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @cosh() {
  %x = stablehlo.constant dense<[-89.0, -0.5, 0.0, 9.999999974752427e-07, 4.0, 0x7F800000]> : tensor<6xf32>
  %y = chlo.cosh %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[2.2448063889081578e+38, 1.1276259422302246, 1.0, 1.0, 27.3082332611084, 0x7F800000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @sinh() {
  %x = stablehlo.constant dense<[-89.0, -0.5, 9.999999974752427e-07, 0.9900000095367432, 4.0, 0xFF800000]> : tensor<6xf32>
  %y = chlo.sinh %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[-2.2448063889081578e+38, -0.5210952758789062, 9.999999974752427e-07, 1.1598289012908936, 27.2899169921875, 0xFF800000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @tan() {
  %x = stablehlo.constant dense<[-1.5, -0.5, 9.999999974752427e-07, 0.75, 3.0, 100.0]> : tensor<6xf32>
  %y = chlo.tan %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[-14.101420402526855, -0.5463024973869324, 9.999999974752427e-07, 0.9315964579582214, -0.14254654943943024, -0.587213933467865]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @square() {
  %x = stablehlo.constant dense<[-2.0, -0.5, 0.0, 3.0, 0.0010000000474974513, 0x7F800000]> : tensor<6xf32>
  %y = chlo.square %x : tensor<6xf32> -> tensor<6xf32>
  %expected = stablehlo.constant dense<[4.0, 0.25, 0.0, 9.0, 1.0000001111620804e-06, 0x7F800000]> : tensor<6xf32>
  check.expect_close %y, %expected, max_ulp_difference = 6 : tensor<6xf32>, tensor<6xf32>
  func.return
}

// -----

func.func @tests_and_parts() {
  %x = stablehlo.constant dense<[1.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %any = chlo.is_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %any, dense<[false, true, true, false]> : tensor<4xi1>
  %plus = chlo.is_pos_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %plus, dense<[false, true, false, false]> : tensor<4xi1>
  %minus = chlo.is_neg_inf %x : tensor<4xf32> -> tensor<4xi1>
  check.expect_eq_const %minus, dense<[false, false, true, false]> : tensor<4xi1>
  %z = stablehlo.constant dense<(1.0, -2.0)> : tensor<complex<f32>>
  %c = chlo.conj %z : tensor<complex<f32>> -> tensor<complex<f32>>
  check.expect_eq_const %c, dense<(1.0, 2.0)> : tensor<complex<f32>>
  %k = "chlo.constant_like"(%x) {value = 2.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  check.expect_eq_const %k, dense<2.5> : tensor<4xf32>
  func.return
}

// -----

// Of f16, bit by bit: from 0 to the smallest number with the sign of y, from 1 down and up.
func.func @next_after() {
  %x = stablehlo.constant dense<[0.0, 0.0, 1.0, 1.0, -1.0, 2.0]> : tensor<6xf16>
  %y = stablehlo.constant dense<[1.0, -1.0, 0.0, 2.0, 0.0, 2.0]> : tensor<6xf16>
  %n = chlo.next_after %x, %y : tensor<6xf16>, tensor<6xf16> -> tensor<6xf16>
  check.expect_eq_const %n, dense<[0x0001, 0x8001, 0x3BFF, 0x3C01, 0xBBFF, 0x4000]> : tensor<6xf16>
  func.return
}

// -----

func.func @broadcasting() {
  %x = stablehlo.constant dense<[[1], [10]]> : tensor<2x1xi32>
  %y = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %sum = chlo.broadcast_add %x, %y : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %sum, dense<[[2, 3, 4], [11, 12, 13]]> : tensor<2x3xi32>
  %less = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi1>
  check.expect_eq_const %less, dense<[[false, true, true], [false, false, false]]> : tensor<2x3xi1>
  %chosen = chlo.broadcast_select %less, %x, %y : (tensor<2x3xi1>, tensor<2x1xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %chosen, dense<[[1, 1, 1], [1, 2, 3]]> : tensor<2x3xi32>
  %z = stablehlo.constant dense<[4, 8]> : tensor<2xi32>
  %w = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %rows = chlo.broadcast_multiply %z, %w {broadcast_dimensions = array<i64: 0>} : (tensor<2xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %rows, dense<[[4, 8, 12], [32, 40, 48]]> : tensor<2x3xi32>
  func.return
}

// -----

// Equal values keep their order.
func.func @top_k() {
  %x = stablehlo.constant dense<[[3.0, 7.0, 1.0, 7.0], [0.0, -1.0, -2.0, -3.0]]> : tensor<2x4xf32>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<2x4xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  check.expect_eq_const %v, dense<[[7.0, 7.0, 3.0], [0.0, -1.0, -2.0]]> : tensor<2x3xf32>
  check.expect_eq_const %i, dense<[[1, 3, 0], [0, 1, 2]]> : tensor<2x3xi32>
  func.return
}

// -----

// Rows 0, 2, 3 by groups of 1, 0 and 2 rows: factors 10 and 1000; the last row is in no group.
func.func @ragged_dot() {
  %x = stablehlo.constant dense<[[1], [2], [3], [4]]> : tensor<4x1xi32>
  %y = stablehlo.constant dense<[[[10]], [[100]], [[1000]]]> : tensor<3x1x1xi32>
  %sizes = stablehlo.constant dense<[1, 0, 2]> : tensor<3xi32>
  %z = "chlo.ragged_dot"(%x, %y, %sizes) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}
    : (tensor<4x1xi32>, tensor<3x1x1xi32>, tensor<3xi32>) -> tensor<4x1xi32>
  check.expect_eq_const %z, dense<[[10], [2000], [3000], [0]]> : tensor<4x1xi32>
  func.return
}

// -----

// The ragged dimension is summed over, in a batch of two: a sum for each group.
func.func @ragged_dot_over_the_sum() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %y = stablehlo.constant dense<[[1, 10, 100], [1, 10, 100]]> : tensor<2x3xi32>
  %sizes = stablehlo.constant dense<[2, 1]> : tensor<2xi32>
  %z = "chlo.ragged_dot"(%x, %y, %sizes) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1],
    rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = []>}
    : (tensor<2x3xi32>, tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %z, dense<[[21, 54], [300, 600]]> : tensor<2x2xi32>
  func.return
}
