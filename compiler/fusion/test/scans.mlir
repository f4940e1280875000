// What a running reduction computes of its elements before it combines them, and after.
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -fuse 2>&1 | FileCheck %s

// CHECK-DAG: sine at waves is not fused into reduce_window at line: no lanes run along the dimension that is scanned
// CHECK-DAG: reduce_window at pairs is not fused into multiply at halves: a window is a kernel by itself

// CHECK-LABEL: @both_sides
// CHECK: isthmus.fusion
// CHECK: stablehlo.convert
// CHECK: stablehlo.reduce_window
// CHECK: stablehlo.multiply
// CHECK: isthmus.yield
// CHECK-NOT: isthmus.fusion
func.func @both_sides(%x: tensor<8x100x64xbf16>, %y: tensor<8x100x64xf32>) -> tensor<8x100x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wide = stablehlo.convert %x : (tensor<8x100x64xbf16>) -> tensor<8x100x64xf32>
  %r = "stablehlo.reduce_window"(%wide, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 1, 100, 1>, padding = dense<[[0, 0], [99, 0], [0, 0]]> : tensor<3x2xi64>} : (tensor<8x100x64xf32>, tensor<f32>) -> tensor<8x100x64xf32>
  %p = stablehlo.multiply %r, %y : tensor<8x100x64xf32>
  return %p : tensor<8x100x64xf32>
}

// CHECK-LABEL: @costly_along_a_line
// CHECK: isthmus.fusion
// CHECK: stablehlo.exponential
// CHECK: isthmus.yield
// CHECK: isthmus.fusion
// CHECK: stablehlo.reduce_window
func.func @costly_along_a_line(%x: tensor<8x4096xf32>) -> tensor<8x4096xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<8x4096xf32> loc("waves")
  %s = stablehlo.sine %e : tensor<8x4096xf32> loc("waves")
  %r = "stablehlo.reduce_window"(%s, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 1, 4096>, padding = dense<[[0, 0], [4095, 0]]> : tensor<2x2xi64>} : (tensor<8x4096xf32>, tensor<f32>) -> tensor<8x4096xf32> loc("line")
  return %r : tensor<8x4096xf32>
}

// CHECK-LABEL: @short_windows
// CHECK: isthmus.fusion
// CHECK: stablehlo.reduce_window
// CHECK: isthmus.yield
// CHECK: isthmus.fusion
// CHECK: stablehlo.multiply
func.func @short_windows(%x: tensor<8x4096xf32>) -> tensor<8x4095xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<8x4095xf32>
  %r = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 1, 2>} : (tensor<8x4096xf32>, tensor<f32>) -> tensor<8x4095xf32> loc("pairs")
  %h = stablehlo.multiply %r, %half : tensor<8x4095xf32> loc("halves")
  return %h : tensor<8x4095xf32>
}
