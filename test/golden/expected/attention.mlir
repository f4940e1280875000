module @jit_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x128x4x64xf32>, %arg1: tensor<2x128x4x64xf32>, %arg2: tensor<2x128x4x64xf32>) -> (tensor<2x128x4x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x128x128xf32>
    %1 = "isthmus.fusion"(%0) <{schedule = ["loop results=0 dims=0-1:8,2:128,3:128 lanes=4 cuts=0,128 tiled=2 chunk=128 grain=78 reduce=17:row:4x4,22:row:4x1 kept=21@22 ns=2.627e+05"]}> ({
    ^bb0(%arg3: tensor<2x4x128x128xf32>):
      %cst = stablehlo.constant dense<0xFF800000> : tensor<2x4x128xf32>
      %cst_0 = stablehlo.constant dense<1.250000e-01> : tensor<2x4x128x128xf32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %cst_3 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
      %c = stablehlo.constant dense<false> : tensor<i1>
      %c_4 = stablehlo.constant dense<true> : tensor<i1>
      %4 = stablehlo.multiply %arg3, %cst_0 : tensor<2x4x128x128xf32>
      %5 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
      %6 = stablehlo.iota dim = 0 : tensor<128x128xi32>
      %7 = stablehlo.iota dim = 1 : tensor<128x128xi32>
      %8 = stablehlo.compare  GE, %6, %7,  SIGNED : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
      %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
      %10 = stablehlo.select %8, %5, %9 : tensor<128x128xi1>, tensor<128x128xi1>
      %11 = stablehlo.broadcast_in_dim %10, dims = [2, 3] : (tensor<128x128xi1>) -> tensor<2x4x128x128xi1>
      %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x128x128xf32>
      %13 = stablehlo.select %11, %4, %12 : tensor<2x4x128x128xi1>, tensor<2x4x128x128xf32>
      %14 = stablehlo.reduce(%13 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
      %15 = stablehlo.maximum %14, %cst : tensor<2x4x128xf32>
      %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x128xf32>
      %17 = stablehlo.subtract %13, %16 : tensor<2x4x128x128xf32>
      %18 = stablehlo.exponential %17 : tensor<2x4x128x128xf32>
      %19 = stablehlo.reduce(%18 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
      %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x128xf32>
      %21 = stablehlo.divide %18, %20 : tensor<2x4x128x128xf32>
      isthmus.yield %21 : tensor<2x4x128x128xf32>
    }) : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
    %2 = stablehlo.dot_general %arg2, %1, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x128x4x64xf32>, tensor<2x4x128x128xf32>) -> tensor<2x4x64x128xf32>
    %3 = "isthmus.fusion"(%2) <{schedule = ["loop results=0 dims=0:2,1:128,2-3:256 order=transposed@1 lanes=4 cuts=0,256 chunk=64 ns=1.638e+04"]}> ({
    ^bb0(%arg3: tensor<2x4x64x128xf32>):
      %4 = stablehlo.transpose %arg3, dims = [0, 3, 1, 2] : (tensor<2x4x64x128xf32>) -> tensor<2x128x4x64xf32>
      isthmus.yield %4 : tensor<2x128x4x64xf32>
    }) : (tensor<2x4x64x128xf32>) -> tensor<2x128x4x64xf32>
    return %3 : tensor<2x128x4x64xf32>
  }
}

