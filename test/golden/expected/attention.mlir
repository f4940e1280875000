module @jit_attention attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x128x4x64xf32>, %arg1: tensor<2x128x4x64xf32>, %arg2: tensor<2x128x4x64xf32>) -> (tensor<2x128x4x64xf32> {jax.result_info = "result"}) {
    %0 = "isthmus.fusion"(%arg0, %arg1, %arg2) <{schedule = ["attention results=0 chunk=64 ns=9.625e+05"]}> ({
    ^bb0(%arg3: tensor<2x128x4x64xf32>, %arg4: tensor<2x128x4x64xf32>, %arg5: tensor<2x128x4x64xf32>):
      %1 = stablehlo.dot_general %arg3, %arg4, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x128x128xf32>
      %2 = "isthmus.fusion"(%1) <{schedule = ["loop results=0 dims=0-1:8,2:128,3:128 lanes=4 cuts=0,128 tiled=2 chunk=128 reduce=17:row:4x4,22:row:4x1 kept=21@22 share=1 ns=2.635e+05"]}> ({
      ^bb0(%arg6: tensor<2x4x128x128xf32>):
        %cst = stablehlo.constant dense<0xFF800000> : tensor<2x4x128xf32>
        %cst_0 = stablehlo.constant dense<1.250000e-01> : tensor<2x4x128x128xf32>
        %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %cst_3 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
        %c = stablehlo.constant dense<false> : tensor<i1>
        %c_4 = stablehlo.constant dense<true> : tensor<i1>
        %5 = stablehlo.multiply %arg6, %cst_0 : tensor<2x4x128x128xf32>
        %6 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
        %7 = stablehlo.iota dim = 0 : tensor<128x128xi32>
        %8 = stablehlo.iota dim = 1 : tensor<128x128xi32>
        %9 = stablehlo.compare  GE, %7, %8,  SIGNED : (tensor<128x128xi32>, tensor<128x128xi32>) -> tensor<128x128xi1>
        %10 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<128x128xi1>
        %11 = stablehlo.select %9, %6, %10 : tensor<128x128xi1>, tensor<128x128xi1>
        %12 = stablehlo.broadcast_in_dim %11, dims = [2, 3] : (tensor<128x128xi1>) -> tensor<2x4x128x128xi1>
        %13 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x128x128xf32>
        %14 = stablehlo.select %12, %5, %13 : tensor<2x4x128x128xi1>, tensor<2x4x128x128xf32>
        %15 = stablehlo.reduce(%14 init: %cst_2) applies stablehlo.maximum across dimensions = [3] : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
        %16 = stablehlo.maximum %15, %cst : tensor<2x4x128xf32>
        %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x128xf32>
        %18 = stablehlo.subtract %14, %17 : tensor<2x4x128x128xf32>
        %19 = stablehlo.exponential %18 : tensor<2x4x128x128xf32>
        %20 = stablehlo.reduce(%19 init: %cst_1) applies stablehlo.add across dimensions = [3] : (tensor<2x4x128x128xf32>, tensor<f32>) -> tensor<2x4x128xf32>
        %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2] : (tensor<2x4x128xf32>) -> tensor<2x4x128x128xf32>
        %22 = stablehlo.divide %19, %21 : tensor<2x4x128x128xf32>
        isthmus.yield %22 : tensor<2x4x128x128xf32>
      }) : (tensor<2x4x128x128xf32>) -> tensor<2x4x128x128xf32>
      %3 = stablehlo.dot_general %2, %arg5, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x128x128xf32>, tensor<2x128x4x64xf32>) -> tensor<2x4x128x64xf32>
      %4 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : (tensor<2x4x128x64xf32>) -> tensor<2x128x4x64xf32>
      isthmus.yield %4 : tensor<2x128x4x64xf32>
    }) : (tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>, tensor<2x128x4x64xf32>) -> tensor<2x128x4x64xf32>
    return %0 : tensor<2x128x4x64xf32>
  }
}

