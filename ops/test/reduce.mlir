// Elements combined along dimensions, several arrays at once, and none at all.
// RUN: isthmus-run %s --split --quiet
// RUN: isthmus-run %s --split --quiet --backend cpu

func.func @sums() {
  %x = stablehlo.constant dense<[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]> : tensor<3x4xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %b = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  check.expect_eq_const %a, dense<[6.0, 22.0, 38.0]> : tensor<3xf32>
  check.expect_eq_const %b, dense<[12.0, 15.0, 18.0, 21.0]> : tensor<4xf32>
  check.expect_eq_const %c, dense<66.0> : tensor<f32>
  func.return
}

// -----

func.func @other_operations() {
  %x = stablehlo.constant dense<[3, -2, 5, 7]> : tensor<4xi8>
  %lo = stablehlo.constant dense<-128> : tensor<i8>
  %one = stablehlo.constant dense<1> : tensor<i8>
  %a = stablehlo.reduce(%x init: %lo) applies stablehlo.maximum across dimensions = [0] : (tensor<4xi8>, tensor<i8>) -> tensor<i8>
  %b = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<4xi8>, tensor<i8>) -> tensor<i8>
  check.expect_eq_const %a, dense<7> : tensor<i8>
  check.expect_eq_const %b, dense<46> : tensor<i8>
  func.return
}

// -----

func.func @of_nothing() {
  %x = stablehlo.constant dense<> : tensor<2x0xf32>
  %z = stablehlo.constant dense<3.0> : tensor<f32>
  %r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %r, dense<[3.0, 3.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @two_at_once() {
  %x = stablehlo.constant dense<[[1.0, 5.0, 2.0], [9.0, -1.0, 3.0]]> : tensor<2x3xf32>
  %i = stablehlo.constant dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi32>
  %lo = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = "stablehlo.reduce"(%x, %i, %lo, %z) ({
  ^bb0(%a: tensor<f32>, %ai: tensor<i32>, %b: tensor<f32>, %bi: tensor<i32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
    %w = stablehlo.select %p, %ai, %bi : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  check.expect_eq_const %r#0, dense<[5.0, 9.0]> : tensor<2xf32>
  check.expect_eq_const %r#1, dense<[1, 0]> : tensor<2xi32>
  func.return
}

// -----

// Bodies whose result no lane of the operand enters, along rows and along columns.
func.func @constant_bodies() {
  %i = stablehlo.iota dim = 1 : tensor<40x100xf32>
  %zc = stablehlo.constant dense<0.0> : tensor<f32>
  %kc = stablehlo.constant dense<5.0> : tensor<f32>
  %z, %k, %x = stablehlo.optimization_barrier %zc, %kc, %i : tensor<f32>, tensor<f32>, tensor<40x100xf32>
  %a = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.constant dense<3.0> : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 1>} : (tensor<40x100xf32>, tensor<f32>) -> tensor<40xf32>
  %b = "stablehlo.reduce"(%x, %z) ({
  ^bb0(%p: tensor<f32>, %q: tensor<f32>):
    %c = stablehlo.negate %k : tensor<f32>
    stablehlo.return %c : tensor<f32>
  }) {dimensions = array<i64: 0>} : (tensor<40x100xf32>, tensor<f32>) -> tensor<100xf32>
  check.expect_eq_const %a, dense<3.0> : tensor<40xf32>
  check.expect_eq_const %b, dense<-5.0> : tensor<100xf32>
  func.return
}
