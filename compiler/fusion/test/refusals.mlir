// Why kernels stay apart: a line for each pair of which one feeds the other.
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s -fuse 2>&1 | FileCheck %s

// CHECK-DAG: reduce at long is not fused into subtract at difference: rows that are read twice and are too long
func.func @long_rows(%x: tensor<64x1048576xf32>) -> tensor<64x1048576xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x1048576xf32>, tensor<f32>) -> tensor<64xf32> loc("long")
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x1048576xf32>
  %d = stablehlo.subtract %x, %mb : tensor<64x1048576xf32> loc("difference")
  return %d : tensor<64x1048576xf32>
}

// CHECK-DAG: reduce at rows is not fused into reduce at all: reductions of different shapes or dimensions
func.func @two_levels(%x: tensor<512x1024xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<512x1024xf32>, tensor<f32>) -> tensor<512xf32> loc("rows")
  %s = stablehlo.reduce(%m init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<512xf32>, tensor<f32>) -> tensor<f32> loc("all")
  return %s : tensor<f32>
}
