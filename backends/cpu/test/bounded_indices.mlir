// Arrays of bounded size through order, indices and windows. Each result is summed with weights that
// tell its places apart; expected sums are NumPy's.
// RUN: isthmus-run --backend cpu --split --quiet %s
// RUN: isthmus-run --backend reference --split --quiet %s

func.func @sort_along_the_dimension() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.sort"(%d0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) {dimension = 0 : i64, is_stable = true} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<27125.0> : tensor<f32>
  func.return
}

// -----

func.func @sort_along_the_last_dimension() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d1 = stablehlo.set_dimension_size %x, %n, dim = 1 : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 4>>
  %y = "stablehlo.sort"(%d1) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<3x?xf32, #stablehlo.bounds<?, 4>>) -> tensor<3x?xf32, #stablehlo.bounds<?, 4>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 1 : (tensor<3x4xf32>, tensor<i32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 4>>
  %p = stablehlo.multiply %y, %wd : tensor<3x?xf32, #stablehlo.bounds<?, 4>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x?xf32, #stablehlo.bounds<?, 4>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<176.75> : tensor<f32>
  func.return
}

// -----

func.func @sort_along_another_dimension() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.sort"(%d0) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %q : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<26629.0> : tensor<f32>
  func.return
}

// -----

func.func @reverse() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = stablehlo.reverse %d0, dims = [0, 1] : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<12806.0> : tensor<f32>
  func.return
}

// -----

// Index 2 becomes 1.
func.func @gather_keeps_indices_inside() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<[[0], [2], [1]]> : tensor<3x1xi32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.gather"(%d0, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<3x1xi32>) -> tensor<3x4xf32>
  %p = stablehlo.multiply %y, %w : tensor<3x4xf32>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<51493.0> : tensor<f32>
  func.return
}

// -----

func.func @gather_by_as_many_indices_as_there_are() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<[[0], [2], [1]]> : tensor<3x1xi32>
  %id = stablehlo.set_dimension_size %i, %n, dim = 0 : (tensor<3x1xi32>, tensor<i32>) -> tensor<?x1xi32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.gather"(%x, %id) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false} : (tensor<3x4xf32>, tensor<?x1xi32, #stablehlo.bounds<3, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<30619.0> : tensor<f32>
  func.return
}

// -----

// Index 2 is outside.
func.func @scatter_drops_what_is_outside() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<[[0], [2], [1]]> : tensor<3x1xi32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %u = stablehlo.constant dense<1.0> : tensor<3x4xf32>
  %y = "stablehlo.scatter"(%d0, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<3x1xi32>, tensor<3x4xf32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<29458.0> : tensor<f32>
  func.return
}

// -----

func.func @scatter_of_as_many_updates_as_there_are() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<[[0], [2], [1]]> : tensor<3x1xi32>
  %u = stablehlo.constant dense<1.0> : tensor<3x4xf32>
  %ud = stablehlo.set_dimension_size %u, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %id = stablehlo.set_dimension_size %i, %n, dim = 0 : (tensor<3x1xi32>, tensor<i32>) -> tensor<?x1xi32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.scatter"(%x, %id, %ud) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<3x4xf32>, tensor<?x1xi32, #stablehlo.bounds<3, ?>>, tensor<?x4xf32, #stablehlo.bounds<3, ?>>) -> tensor<3x4xf32>
  %p = stablehlo.multiply %y, %w : tensor<3x4xf32>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<62678.0> : tensor<f32>
  func.return
}

// -----

func.func @cumulative_sum() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.reduce_window"(%d0, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) {window_dimensions = array<i64: 3, 1>, padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<44551.0> : tensor<f32>
  func.return
}

// -----

func.func @windows_beside_the_dimension() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = "stablehlo.reduce_window"(%d0, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32>
  }) {window_dimensions = array<i64: 1, 3>, padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>} : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<39986.0> : tensor<f32>
  func.return
}

// -----

// Row 2 is not there: the block starts at row 0.
func.func @dynamic_slice_stays_inside() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.dynamic_slice %d0, %o, %o, sizes = [2, 2] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>
  %r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<12.0> : tensor<f32>
  func.return
}

// -----

func.func @dynamic_update_slice_stays_inside() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %o = stablehlo.constant dense<1> : tensor<i32>
  %far = stablehlo.constant dense<100> : tensor<i8>
  %near = stablehlo.constant dense<1> : tensor<i8>
  %u = stablehlo.constant dense<100.0> : tensor<1x2xf32>
  %y = stablehlo.dynamic_update_slice %d0, %u, %far, %near : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<1x2xf32>, tensor<i8>, tensor<i8>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<47225.0> : tensor<f32>
  func.return
}

// -----

func.func @slice() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[3.0, 1.0, 2.0, 9.0], [6.0, 5.0, 4.0, 8.0], [0.5, 0.25, 7.0, 10.0]]> : tensor<3x4xf32>
  %w = stablehlo.constant dense<[[1.0, 10.0, 100.0, 1000.0], [2.0, 20.0, 200.0, 2000.0], [3.0, 30.0, 300.0, 3000.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<3, ?>>
  %y = stablehlo.slice %d0 [1:2, 1:3] : (tensor<?x4xf32, #stablehlo.bounds<3, ?>>) -> tensor<1x2xf32>
  %r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x2xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<9.0> : tensor<f32>
  func.return
}

// -----

// Rows are a spatial dimension, columns the batch; the window sees zeros behind the end.
func.func @convolution_along_the_dimension() {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.optimization_barrier %two : tensor<i32>
  %x = stablehlo.constant dense<[[[3.0], [1.0], [2.0], [9.0]], [[6.0], [5.0], [4.0], [8.0]], [[0.5], [0.25], [7.0], [10.0]]]> : tensor<3x4x1xf32>
  %w = stablehlo.constant dense<[[[1.0], [10.0], [100.0], [1000.0]], [[2.0], [20.0], [200.0], [2000.0]], [[3.0], [30.0], [300.0], [3000.0]]]> : tensor<3x4x1xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %d = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<3x4x1xf32>, tensor<i32>) -> tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>
  %k = stablehlo.constant dense<[[[2.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %y = stablehlo.convolution(%d, %k) dim_numbers = [0, b, f]x[0, i, o]->[0, b, f], window = {pad = [[0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>, tensor<2x1x1xf32>) -> tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>
  %wd = stablehlo.set_dimension_size %w, %n, dim = 0 : (tensor<3x4x1xf32>, tensor<i32>) -> tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>
  %p = stablehlo.multiply %y, %wd : tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>
  %r = stablehlo.reduce(%p init: %z) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<?x4x1xf32, #stablehlo.bounds<3, ?, ?>>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %r, dense<94530.0> : tensor<f32>
  func.return
}
