// What the schedule pass writes into fusions, for the default target (vectors of 128 bits).
// RUN: isthmus-opt %s -fuse -schedule | FileCheck %s

// CHECK-LABEL: @elementwise
// CHECK: schedule = ["loop results=0 dims=0-1:512 lanes=4 cuts=0,512 chunk=512 ns={{[^"]*}}"]
func.func @elementwise(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %0 = stablehlo.negate %x : tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}

// Blocks of rows, read as they lie and transposed in registers.
// CHECK-LABEL: @transposed
// CHECK: schedule = ["loop results=0 dims=0:128,1:128 order=transposed@0 lanes=4
func.func @transposed(%x: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<128x128xf32>) -> tensor<128x128xf32>
  return %0 : tensor<128x128xf32>
}

// What a row gives besides its elements is written when the row is finished.
// CHECK-LABEL: @rows
// CHECK: schedule = ["loop results=1 rows=0 dims=0:8,1:64 order=blocks@0 block=4 lanes=4
// CHECK-NOT: "loop
// CHECK: return
func.func @rows(%x: tensor<8x64xf32>) -> (tensor<8xf32>, tensor<8x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<8xf32>
  %e = stablehlo.exponential %s : tensor<8xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x64xf32>
  %r = stablehlo.divide %x, %b : tensor<8x64xf32>
  return %e, %r : tensor<8xf32>, tensor<8x64xf32>
}

// An array that is joined and read at two offsets begins at two places of the loop.
// CHECK-LABEL: @differences
// CHECK: schedule = ["loop results=0 dims=0:8,1:99 lanes=4 cuts=0,6,7,99
func.func @differences(%x: tensor<8x100xf32>) -> tensor<8x99xf32> {
  %a = stablehlo.slice %x [0:8, 93:100] : (tensor<8x100xf32>) -> tensor<8x7xf32>
  %b = stablehlo.slice %x [0:8, 0:93] : (tensor<8x100xf32>) -> tensor<8x93xf32>
  %c = stablehlo.concatenate %a, %b, dim = 1 : (tensor<8x7xf32>, tensor<8x93xf32>) -> tensor<8x100xf32>
  %p = stablehlo.slice %c [0:8, 1:100] : (tensor<8x100xf32>) -> tensor<8x99xf32>
  %q = stablehlo.slice %c [0:8, 0:99] : (tensor<8x100xf32>) -> tensor<8x99xf32>
  %d = stablehlo.subtract %p, %q : tensor<8x99xf32>
  return %d : tensor<8x99xf32>
}

// The operand is copied, unless it is the same memory; then its window is overwritten.
// CHECK-LABEL: @update
// CHECK: schedule = ["copy results=0 dims=0-1:8192 lanes=4{{[^"]*}}", "update_slice results=0 lanes=4 ns={{[^"]*}}"]
func.func @update(%x: tensor<64x128xf32>, %u: tensor<1x128xf32>, %i: tensor<i32>) -> tensor<64x128xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %i, %zero : (tensor<64x128xf32>, tensor<1x128xf32>, tensor<i32>, tensor<i32>) -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// Rows that are not there are cut into no tiles: without simplification, they come this far.
// CHECK-LABEL: @running_sums_of_no_rows
// CHECK: schedule = ["scan results=0
func.func @running_sums_of_no_rows(%x: tensor<0x9x8xf64>) -> tensor<0x9x8xf64> {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %sum = stablehlo.add %a, %b : tensor<f64>
    stablehlo.return %sum : tensor<f64>
  }) {window_dimensions = array<i64: 1, 9, 1>, padding = dense<[[0, 0], [0, 8], [0, 0]]> : tensor<3x2xi64>} : (tensor<0x9x8xf64>, tensor<f64>) -> tensor<0x9x8xf64>
  return %0 : tensor<0x9x8xf64>
}

// A result that is summed by rows, which are a result as well, goes by rows: each element is computed once.
// CHECK-LABEL: @exponentials_and_sums
// CHECK: schedule = ["loop results=0 rows=1 dims=0:1024,1:512 {{[^"]*}}kept=1@2 {{[^"]*}}"]
func.func @exponentials_and_sums(%x: tensor<1024x512xf32>) -> (tensor<1024x512xf32>, tensor<1024xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.exponential %x : tensor<1024x512xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x512xf32>, tensor<f32>) -> tensor<1024xf32>
  return %1, %2 : tensor<1024x512xf32>, tensor<1024xf32>
}
