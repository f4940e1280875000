// Programs whose sizes matter: what takes groups of threads, tiles, tensor cores. assemble.py compiles each.

// case dot_general bf16 tensor_cores
func.func @main(%a: tensor<512x256xbf16>, %b: tensor<256x384xbf16>) -> tensor<512x384xbf16> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x256xbf16>, tensor<256x384xbf16>) -> tensor<512x384xbf16>
  return %r : tensor<512x384xbf16>
}

// case dot_general bf16 tensor_cores_large_tiles
func.func @main(%a: tensor<2048x1024xbf16>, %b: tensor<1024x2048xbf16>) -> tensor<2048x2048xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2048x1024xbf16>, tensor<1024x2048xbf16>) -> tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}

// case dot_general f16 tensor_cores_of_transposed
func.func @main(%a: tensor<4x64x128xf16>, %b: tensor<4x64x136xf16>) -> tensor<4x128x136xf16> {
  %r = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<4x64x128xf16>, tensor<4x64x136xf16>) -> tensor<4x128x136xf16>
  return %r : tensor<4x128x136xf16>
}

// case dot_general i8 tensor_cores
func.func @main(%a: tensor<256x512xi8>, %b: tensor<256x512xi8>) -> tensor<256x256xi32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<256x512xi8>, tensor<256x512xi8>) -> tensor<256x256xi32>
  return %r : tensor<256x256xi32>
}

// case dot_general f32 matrices
func.func @main(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}

// case dot_general bf16 bias_relu_of_tensor_cores
func.func @main(%a: tensor<512x256xbf16>, %b: tensor<256x384xbf16>, %c: tensor<384xf32>) -> tensor<512x384xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x256xbf16>, tensor<256x384xbf16>) -> tensor<512x384xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<384xf32>) -> tensor<512x384xf32>
  %2 = stablehlo.add %0, %1 : tensor<512x384xf32>
  %z = stablehlo.constant dense<0.0> : tensor<512x384xf32>
  %9 = stablehlo.maximum %2, %z : tensor<512x384xf32>
  %r = stablehlo.convert %9 : (tensor<512x384xf32>) -> tensor<512x384xbf16>
  return %r : tensor<512x384xbf16>
}

// case dot_general bf16 bias_gelu_of_tensor_cores
func.func @main(%a: tensor<2048x1024xbf16>, %b: tensor<1024x2048xbf16>, %c: tensor<2048xf32>) -> tensor<2048x2048xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2048x1024xbf16>, tensor<1024x2048xbf16>) -> tensor<2048x2048xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<2048xf32>) -> tensor<2048x2048xf32>
  %2 = stablehlo.add %0, %1 : tensor<2048x2048xf32>
  %h = stablehlo.constant dense<0.5> : tensor<2048x2048xf32>
  %s = stablehlo.constant dense<-0.70710678> : tensor<2048x2048xf32>
  %3 = stablehlo.multiply %2, %s : tensor<2048x2048xf32>
  %4 = chlo.erfc %3 : tensor<2048x2048xf32> -> tensor<2048x2048xf32>
  %5 = stablehlo.multiply %2, %4 : tensor<2048x2048xf32>
  %9 = stablehlo.multiply %5, %h : tensor<2048x2048xf32>
  %r = stablehlo.convert %9 : (tensor<2048x2048xf32>) -> tensor<2048x2048xbf16>
  return %r : tensor<2048x2048xbf16>
}

// case dot_general f32 bias_gelu_of_tiles
func.func @main(%a: tensor<1024x512xf32>, %b: tensor<512x1024xf32>, %c: tensor<1024xf32>) -> tensor<1024x1024xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1024x512xf32>, tensor<512x1024xf32>) -> tensor<1024x1024xf32>
  %1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<1024xf32>) -> tensor<1024x1024xf32>
  %2 = stablehlo.add %0, %1 : tensor<1024x1024xf32>
  %h = stablehlo.constant dense<0.5> : tensor<1024x1024xf32>
  %s = stablehlo.constant dense<-0.70710678> : tensor<1024x1024xf32>
  %3 = stablehlo.multiply %2, %s : tensor<1024x1024xf32>
  %4 = chlo.erfc %3 : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  %5 = stablehlo.multiply %2, %4 : tensor<1024x1024xf32>
  %9 = stablehlo.multiply %5, %h : tensor<1024x1024xf32>
  %r = stablehlo.convert %9 : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// case dot_general f32 attention
func.func @main(%q: tensor<4x512x64xf32>, %k: tensor<4x512x64xf32>, %v: tensor<4x512x64xf32>) -> tensor<4x512x64xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x512x64xf32>, tensor<4x512x64xf32>) -> tensor<4x512x512xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %d = stablehlo.subtract %s, %mb : tensor<4x512x512xf32>
  %e = stablehlo.exponential %d : tensor<4x512x512xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %w = stablehlo.divide %e, %tb : tensor<4x512x512xf32>
  %r = stablehlo.dot_general %w, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x512x512xf32>, tensor<4x512x64xf32>) -> tensor<4x512x64xf32>
  return %r : tensor<4x512x64xf32>
}

// case dot_general bf16 attention_on_tensor_cores
func.func @main(%q: tensor<4x512x64xbf16>, %k: tensor<4x512x64xbf16>, %v: tensor<4x512x64xbf16>) -> tensor<4x512x64xbf16> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x512x64xbf16>, tensor<4x512x64xbf16>) -> tensor<4x512x512xf32>
  %m = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %d = stablehlo.subtract %s, %mb : tensor<4x512x512xf32>
  %e = stablehlo.exponential %d : tensor<4x512x512xf32>
  %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x512x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %tb = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<4x512xf32>) -> tensor<4x512x512xf32>
  %w = stablehlo.divide %e, %tb : tensor<4x512x512xf32>
  %c = stablehlo.convert %w : (tensor<4x512x512xf32>) -> tensor<4x512x512xbf16>
  %r = stablehlo.dot_general %c, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x512x512xbf16>, tensor<4x512x64xbf16>) -> tensor<4x512x64xbf16>
  return %r : tensor<4x512x64xbf16>
}

// case dot_general c64 matrices
func.func @main(%a: tensor<64x64xcomplex<f32>>, %b: tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<64x64xcomplex<f32>>, tensor<64x64xcomplex<f32>>) -> tensor<64x64xcomplex<f32>>
  return %r : tensor<64x64xcomplex<f32>>
}

// case convolution bf16 images
func.func @main(%a: tensor<8x56x56x64xbf16>, %b: tensor<3x3x64x64xbf16>) -> tensor<8x56x56x64xbf16> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x64xbf16>, tensor<3x3x64x64xbf16>) -> tensor<8x56x56x64xbf16>
  return %r : tensor<8x56x56x64xbf16>
}

// case reduce f32 rows_by_groups
func.func @main(%a: tensor<128x4096xf32>) -> tensor<128xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<128x4096xf32>, tensor<f32>) -> tensor<128xf32>
  return %r : tensor<128xf32>
}

// case reduce f32 columns
func.func @main(%a: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// case reduce f32 softmax
func.func @main(%x: tensor<256x1000xf32>) -> tensor<256x1000xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<256xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xf32>) -> tensor<256x1000xf32>
  %d = stablehlo.subtract %x, %mb : tensor<256x1000xf32>
  %e = stablehlo.exponential %d : tensor<256x1000xf32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<256x1000xf32>, tensor<f32>) -> tensor<256xf32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<256xf32>) -> tensor<256x1000xf32>
  %y = stablehlo.divide %e, %sb : tensor<256x1000xf32>
  return %y : tensor<256x1000xf32>
}

// case reduce bf16 row_in_registers
func.func @main(%x: tensor<256x2048xbf16>) -> tensor<256x2048xbf16> {
  %l = stablehlo.constant dense<0xFF80> : tensor<bf16>
  %m = stablehlo.reduce(%x init: %l) applies stablehlo.maximum across dimensions = [1] : (tensor<256x2048xbf16>, tensor<bf16>) -> tensor<256xbf16>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<256xbf16>) -> tensor<256x2048xbf16>
  %y = stablehlo.subtract %x, %mb : tensor<256x2048xbf16>
  return %y : tensor<256x2048xbf16>
}

// case reduce bf16 sums_in_one_loop
func.func @main(%x: tensor<16384x112x64xbf16>) -> (tensor<16384x64xf32>, tensor<16384x64xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %f = stablehlo.convert %x : (tensor<16384x112x64xbf16>) -> tensor<16384x112x64xf32>
  %q = stablehlo.multiply %f, %f : tensor<16384x112x64xf32>
  %a = stablehlo.reduce(%f init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16384x112x64xf32>, tensor<f32>) -> tensor<16384x64xf32>
  %b = stablehlo.reduce(%q init: %z) applies stablehlo.add across dimensions = [1] : (tensor<16384x112x64xf32>, tensor<f32>) -> tensor<16384x64xf32>
  return %a, %b : tensor<16384x64xf32>, tensor<16384x64xf32>
}

// case transpose f16 matrix
func.func @main(%a: tensor<2048x1024xf16>) -> tensor<1024x2048xf16> {
  %r = stablehlo.transpose %a, dims = [1, 0] : (tensor<2048x1024xf16>) -> tensor<1024x2048xf16>
  return %r : tensor<1024x2048xf16>
}

// case scatter f32 rows
func.func @main(%x: tensor<1000x64xf32>, %i: tensor<512x1xi32>, %u: tensor<512x64xf32>) -> tensor<1000x64xf32> {
  %r = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false} : (tensor<1000x64xf32>, tensor<512x1xi32>, tensor<512x64xf32>) -> tensor<1000x64xf32>
  return %r : tensor<1000x64xf32>
}

// case scatter f16 updates_that_meet
func.func @main(%x: tensor<99xf16>, %i: tensor<5000x1xi32>, %u: tensor<5000xf16>) -> tensor<99xf16> {
  %r = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, unique_indices = false,
      scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %s = stablehlo.add %a, %b : tensor<f16>
      stablehlo.return %s : tensor<f16>
  }) : (tensor<99xf16>, tensor<5000x1xi32>, tensor<5000xf16>) -> tensor<99xf16>
  return %r : tensor<99xf16>
}

// case sort f32 keys_and_values
func.func @main(%k: tensor<3000xf32>, %v: tensor<3000xi64>) -> (tensor<3000xf32>, tensor<3000xi64>) {
  %r:2 = "stablehlo.sort"(%k, %v) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i64>, %d: tensor<i64>):
      %s = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
  }) : (tensor<3000xf32>, tensor<3000xi64>) -> (tensor<3000xf32>, tensor<3000xi64>)
  return %r#0, %r#1 : tensor<3000xf32>, tensor<3000xi64>
}

// case fft c64 mixed_factors
func.func @main(%x: tensor<8x3610xcomplex<f32>>) -> tensor<8x3610xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [3610] : (tensor<8x3610xcomplex<f32>>) -> tensor<8x3610xcomplex<f32>>
  return %r : tensor<8x3610xcomplex<f32>>
}

// case while f32 one_item
func.func @main(%x: tensor<f32>) -> tensor<f32> {
  %limit = stablehlo.constant dense<1.0e+02> : tensor<f32>
  %r = stablehlo.while(%c = %x) : tensor<f32>
    cond {
      %p = stablehlo.compare LT, %c, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %n = stablehlo.exponential %c : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }
  return %r : tensor<f32>
}

// case reduce_window f32 scan_in_parts
func.func @main(%x: tensor<1000000xf32>) -> tensor<1000000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) {window_dimensions = array<i64: 1000000>, padding = dense<[[999999, 0]]> : tensor<1x2xi64>} : (tensor<1000000xf32>, tensor<f32>) -> tensor<1000000xf32>
  return %r : tensor<1000000xf32>
}

// case reduce_window bf16 scan_of_columns
func.func @main(%x: tensor<64x300x4096xbf16>) -> tensor<64x300x4096xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %r = "stablehlo.reduce_window"(%x, %zero) ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %sum = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %sum : tensor<bf16>
  }) {window_dimensions = array<i64: 1, 300, 1>, padding = dense<[[0, 0], [0, 299], [0, 0]]> : tensor<3x2xi64>} : (tensor<64x300x4096xbf16>, tensor<bf16>) -> tensor<64x300x4096xbf16>
  return %r : tensor<64x300x4096xbf16>
}

// case add f32 neighbours
func.func @main(%a: tensor<999x1001xf32>, %b: tensor<999x1001xf32>) -> tensor<999x1001xf32> {
  %r = stablehlo.add %a, %b : tensor<999x1001xf32>
  return %r : tensor<999x1001xf32>
}

// case multiply bf16 neighbours
func.func @main(%a: tensor<1024x1024xbf16>, %b: tensor<1024xbf16>) -> tensor<1024x1024xbf16> {
  %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<1024xbf16>) -> tensor<1024x1024xbf16>
  %r = stablehlo.multiply %a, %c : tensor<1024x1024xbf16>
  return %r : tensor<1024x1024xbf16>
}

// case convolution f32 implicit_product
func.func @main(%a: tensor<8x56x56x64xf32>, %b: tensor<3x3x64x64xf32>) -> tensor<8x56x56x64xf32> {
  %r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x56x56x64xf32>, tensor<3x3x64x64xf32>) -> tensor<8x56x56x64xf32>
  return %r : tensor<8x56x56x64xf32>
}

// case dot_general f32 matrix_vector
func.func @main(%a: tensor<4096x4096xf32>, %b: tensor<4096xf32>) -> tensor<4096xf32> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// case dot_general bf16 vector_matrix
func.func @main(%a: tensor<1x4096xbf16>, %b: tensor<4096x1024xbf16>) -> tensor<1x1024xbf16> {
  %r = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<1x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<1x1024xbf16>
  return %r : tensor<1x1024xbf16>
}
