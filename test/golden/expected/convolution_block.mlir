module @jit_convolution_block attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x32x32x16xf32>, %arg1: tensor<3x3x16x32xf32>, %arg2: tensor<32xf32>) -> (tensor<8x16x16x32xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<8x32x32x16xf32>, tensor<3x3x16x32xf32>) -> tensor<8x32x32x32xf32>
    %1 = "isthmus.fusion"(%arg2, %0) <{schedule = ["loop results=0 dims=0-2:8192,3:32 lanes=4 cuts=0,32 tiled=1 chunk=32 grain=819 share=1 ns=2.097e+05"]}> ({
    ^bb0(%arg3: tensor<32xf32>, %arg4: tensor<8x32x32x32xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %3 = stablehlo.broadcast_in_dim %arg3, dims = [3] : (tensor<32xf32>) -> tensor<8x32x32x32xf32>
      %4 = stablehlo.multiply %arg4, %3 : tensor<8x32x32x32xf32>
      %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x32x32x32xf32>
      %6 = stablehlo.maximum %4, %5 : tensor<8x32x32x32xf32>
      isthmus.yield %6 : tensor<8x32x32x32xf32>
    }) : (tensor<32xf32>, tensor<8x32x32x32xf32>) -> tensor<8x32x32x32xf32>
    %2 = "isthmus.fusion"(%1) <{schedule = ["loop results=0 dims=0:8,1:16,2:16,3:32 lanes=4 cuts=0,32 tiled=2 chunk=32 grain=14 unroll=1 share=1 ns=1.966e+05"]}> ({
    ^bb0(%arg3: tensor<8x32x32x32xf32>):
      %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %3 = "stablehlo.reduce_window"(%arg3, %cst) <{base_dilations = array<i64: 1, 1, 1, 1>, padding = dense<0> : tensor<4x2xi64>, window_dilations = array<i64: 1, 1, 1, 1>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
      ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
        %4 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
        stablehlo.return %4 : tensor<f32>
      }) : (tensor<8x32x32x32xf32>, tensor<f32>) -> tensor<8x16x16x32xf32>
      isthmus.yield %3 : tensor<8x16x16x32xf32>
    }) : (tensor<8x32x32x32xf32>) -> tensor<8x16x16x32xf32>
    return %2 : tensor<8x16x16x32xf32>
  }
}

