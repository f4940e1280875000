module @jit_layer_norm_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x768xf32>, %arg1: tensor<768xf32>, %arg2: tensor<768xf32>) -> (tensor<64x768xf32> {jax.result_info = "result[0]"}, tensor<768xf32> {jax.result_info = "result[1]"}, tensor<768xf32> {jax.result_info = "result[2]"}) {
    %0:3 = "isthmus.fusion"(%arg0, %arg1, %arg2) <{schedule = ["loop results=0,1,2 dims=0:64,1:768 lanes=4 cuts=0,768 tiled=1 chunk=768 grain=21 reduce=6:row:4x4,15:row:4x4,32:row:4x4,37:row:4x4,45:row:4x4 share=1 ns=7.694e+04"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<768xf32>, %arg5: tensor<768xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<64xf32>
      %cst_0 = stablehlo.constant dense<-5.000000e-01> : tensor<64x1xf32>
      %cst_1 = stablehlo.constant dense<9.99999974E-6> : tensor<64x1xf32>
      %cst_2 = stablehlo.constant dense<7.680000e+02> : tensor<64x1xf32>
      %cst_3 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%arg3 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %3 = stablehlo.reshape %2 : (tensor<64xf32>) -> tensor<64x1xf32>
      %4 = stablehlo.divide %3, %cst_2 : tensor<64x1xf32>
      %5 = stablehlo.reshape %4 : (tensor<64x1xf32>) -> tensor<64xf32>
      %6 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %7 = stablehlo.subtract %arg3, %6 : tensor<64x768xf32>
      %8 = stablehlo.multiply %7, %7 : tensor<64x768xf32>
      %9 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64x768xf32>
      %10 = stablehlo.multiply %9, %7 : tensor<64x768xf32>
      %11 = stablehlo.reduce(%8 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %12 = stablehlo.reshape %11 : (tensor<64xf32>) -> tensor<64x1xf32>
      %13 = stablehlo.divide %12, %cst_2 : tensor<64x1xf32>
      %14 = stablehlo.add %13, %cst_1 : tensor<64x1xf32>
      %15 = stablehlo.rsqrt %14 : tensor<64x1xf32>
      %16 = stablehlo.divide %15, %14 : tensor<64x1xf32>
      %17 = stablehlo.multiply %16, %cst_0 : tensor<64x1xf32>
      %18 = stablehlo.reshape %15 : (tensor<64x1xf32>) -> tensor<64xf32>
      %19 = stablehlo.broadcast_in_dim %18, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %20 = stablehlo.multiply %7, %19 : tensor<64x768xf32>
      %21 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<768xf32>) -> tensor<64x768xf32>
      %22 = stablehlo.multiply %20, %21 : tensor<64x768xf32>
      %23 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<768xf32>) -> tensor<64x768xf32>
      %24 = stablehlo.add %22, %23 : tensor<64x768xf32>
      %25 = stablehlo.multiply %9, %24 : tensor<64x768xf32>
      %26 = stablehlo.multiply %25, %21 : tensor<64x768xf32>
      %27 = stablehlo.multiply %7, %26 : tensor<64x768xf32>
      %28 = stablehlo.reduce(%27 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %29 = stablehlo.reshape %28 : (tensor<64xf32>) -> tensor<64x1xf32>
      %30 = stablehlo.multiply %26, %19 : tensor<64x768xf32>
      %31 = stablehlo.multiply %29, %17 : tensor<64x1xf32>
      %32 = stablehlo.negate %30 : tensor<64x768xf32>
      %33 = stablehlo.reduce(%32 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %34 = stablehlo.reshape %33 : (tensor<64xf32>) -> tensor<64x1xf32>
      %35 = stablehlo.divide %31, %cst_2 : tensor<64x1xf32>
      %36 = stablehlo.reshape %35 : (tensor<64x1xf32>) -> tensor<64xf32>
      %37 = stablehlo.add %36, %cst : tensor<64xf32>
      %38 = stablehlo.broadcast_in_dim %37, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %39 = stablehlo.multiply %38, %10 : tensor<64x768xf32>
      %40 = stablehlo.negate %39 : tensor<64x768xf32>
      %41 = stablehlo.reduce(%40 init: %cst_4) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %42 = stablehlo.reshape %41 : (tensor<64xf32>) -> tensor<64x1xf32>
      %43 = stablehlo.add %30, %39 : tensor<64x768xf32>
      %44 = stablehlo.add %34, %42 : tensor<64x1xf32>
      %45 = stablehlo.divide %44, %cst_2 : tensor<64x1xf32>
      %46 = stablehlo.reshape %45 : (tensor<64x1xf32>) -> tensor<64xf32>
      %47 = stablehlo.add %46, %cst : tensor<64xf32>
      %48 = stablehlo.broadcast_in_dim %47, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %49 = stablehlo.add %43, %48 : tensor<64x768xf32>
      isthmus.yield %20, %25, %49 : tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>
    }) : (tensor<64x768xf32>, tensor<768xf32>, tensor<768xf32>) -> (tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>)
    %1:2 = "isthmus.fusion"(%0#1, %0#0) <{schedule = ["loop results=0,1 dims=0:768 lanes=4 cuts=0,768 chunk=768 reduce=2:accumulate:1x4,5:accumulate:1x4 ns=1.546e+04"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<64x768xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<768xf32>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.reduce(%arg3 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<64x768xf32>, tensor<f32>) -> tensor<768xf32>
      %3 = stablehlo.add %2, %cst : tensor<768xf32>
      %4 = stablehlo.multiply %arg4, %arg3 : tensor<64x768xf32>
      %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<64x768xf32>, tensor<f32>) -> tensor<768xf32>
      %6 = stablehlo.add %5, %cst : tensor<768xf32>
      isthmus.yield %3, %6 : tensor<768xf32>, tensor<768xf32>
    }) : (tensor<64x768xf32>, tensor<64x768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
    return %0#2, %1#1, %1#0 : tensor<64x768xf32>, tensor<768xf32>, tensor<768xf32>
  }
}

