// RUN: isthmus-opt %s -split-transposes -split-input-file | FileCheck %s

// The kernel of a convolution, for which features lie side by side: rows of nine elements become
// columns, whose rows are moved then.
// CHECK-LABEL: @kernel
// CHECK: %[[ROWS:.*]] = stablehlo.transpose %arg0, dims = [1, 2, 3, 0] : (tensor<512x256x3x3xf32>) -> tensor<256x3x3x512xf32>
// CHECK: %[[MOVED:.*]] = stablehlo.transpose %[[ROWS]], dims = [1, 2, 0, 3] : (tensor<256x3x3x512xf32>) -> tensor<3x3x256x512xf32>
// CHECK: return %[[MOVED]]
func.func @kernel(%w: tensor<512x256x3x3xf32>) -> tensor<3x3x256x512xf32> {
  %0 = stablehlo.transpose %w, dims = [2, 3, 1, 0] : (tensor<512x256x3x3xf32>) -> tensor<3x3x256x512xf32>
  return %0 : tensor<3x3x256x512xf32>
}

// -----

// Its gradient, the other way round.
// CHECK-LABEL: @gradient
// CHECK: %[[MOVED:.*]] = stablehlo.transpose %arg0, dims = [2, 0, 1, 3] : (tensor<3x3x256x512xf32>) -> tensor<256x3x3x512xf32>
// CHECK: stablehlo.transpose %[[MOVED]], dims = [3, 0, 1, 2] : (tensor<256x3x3x512xf32>) -> tensor<512x256x3x3xf32>
func.func @gradient(%w: tensor<3x3x256x512xf32>) -> tensor<512x256x3x3xf32> {
  %0 = stablehlo.transpose %w, dims = [3, 2, 0, 1] : (tensor<3x3x256x512xf32>) -> tensor<512x256x3x3xf32>
  return %0 : tensor<512x256x3x3xf32>
}

// -----

// Matrices are one step already, dimensions of size 1 or not; long rows at both ends are transposed
// in registers; few elements are read in any order.
// CHECK-LABEL: @one_step
// CHECK-COUNT-4: stablehlo.transpose
// CHECK-NOT: stablehlo.transpose
func.func @one_step(%a: tensor<8x224x224x3xf32>, %b: tensor<64x1x4x128xf32>, %c: tensor<32x64x16x64xf32>, %d: tensor<16x16x3x3xf32>) -> (tensor<8x3x224x224xf32>, tensor<4x128x1x64xf32>, tensor<64x16x64x32xf32>, tensor<3x3x16x16xf32>) {
  %0 = stablehlo.transpose %a, dims = [0, 3, 1, 2] : (tensor<8x224x224x3xf32>) -> tensor<8x3x224x224xf32>
  %1 = stablehlo.transpose %b, dims = [2, 3, 1, 0] : (tensor<64x1x4x128xf32>) -> tensor<4x128x1x64xf32>
  %2 = stablehlo.transpose %c, dims = [3, 2, 1, 0] : (tensor<32x64x16x64xf32>) -> tensor<64x16x64x32xf32>
  %3 = stablehlo.transpose %d, dims = [2, 3, 1, 0] : (tensor<16x16x3x3xf32>) -> tensor<3x3x16x16xf32>
  return %0, %1, %2, %3 : tensor<8x3x224x224xf32>, tensor<4x128x1x64xf32>, tensor<64x16x64x32xf32>, tensor<3x3x16x16xf32>
}
