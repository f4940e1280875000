// In which form the CPU's functions multiply is decided when a program is compiled, and said.
// RUN: env ISTHMUS_LOG=compile isthmus-run %s --backend cpu 2>&1 | FileCheck %s

// CHECK-DAG: dot_general {{.*}}is computed in the form row_times_matrix for {{v2|v3|v4|vnni|bf16|amx}}, near
// CHECK-DAG: dot_general {{.*}}is computed in the form blocked for {{[a-z0-9]+}} (in place: not all of f32, or of f64)
// CHECK-DAG: dot_general {{.*}}is computed in the form direct for {{[a-z0-9]+}} (row_times_matrix: several rows and columns; dot_products: terms lie apart)
// CHECK-DAG: convolution {{.*}}is computed in the form windows for {{[a-z0-9]+}} (depthwise: few groups; transposed_sums: {{.*}}; position_sums: {{.*}})
func.func @main() -> (tensor<300xf32>, tensor<8x8xi32>, tensor<32x32xf32>, tensor<1x6x6x16xf32>) {
  %v = stablehlo.iota dim = 0 : tensor<100xf32>
  %m = stablehlo.iota dim = 0 : tensor<100x300xf32>
  %a = stablehlo.dot_general %v, %m, contracting_dims = [0] x [0] : (tensor<100xf32>, tensor<100x300xf32>) -> tensor<300xf32>
  %i = stablehlo.iota dim = 0 : tensor<8x8xi32>
  %b = stablehlo.dot_general %i, %i, contracting_dims = [1] x [0] : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi32>
  // With work on its sums.
  %s = stablehlo.iota dim = 1 : tensor<32x32xf32>
  %p = stablehlo.dot_general %s, %s, contracting_dims = [1] x [0] : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %c = stablehlo.tanh %p : tensor<32x32xf32>
  %x = stablehlo.iota dim = 1 : tensor<1x8x8x4xf32>
  %k = stablehlo.iota dim = 3 : tensor<3x3x4x16xf32>
  %d = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
  return %a, %b, %c, %d : tensor<300xf32>, tensor<8x8xi32>, tensor<32x32xf32>, tensor<1x6x6x16xf32>
}
