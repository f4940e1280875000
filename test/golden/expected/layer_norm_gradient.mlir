module @jit_layer_norm_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<64x768xf32>, %arg1: tensor<768xf32>, %arg2: tensor<768xf32>) -> (tensor<64x768xf32> {jax.result_info = "result[0]"}, tensor<768xf32> {jax.result_info = "result[1]"}, tensor<768xf32> {jax.result_info = "result[2]"}) {
    %0:6 = "isthmus.fusion"(%arg0, %arg1, %arg2) <{schedule = ["loop results=0,2,3,4 dims=0:64,1:768 lanes=4 cuts=0,768 chunk=768 reduce=5:row:4x4,13:row:4x4,30:row:4x4 ns=3.39e+04", "loop results=1,5 dims=0:64 cuts=0,64 chunk=64 reduce=5:row:4x4,13:row:4x4,30:row:4x4 ns=3.39e+04"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<768xf32>, %arg5: tensor<768xf32>):
      %cst = stablehlo.constant dense<-5.000000e-01> : tensor<64x1xf32>
      %cst_0 = stablehlo.constant dense<9.99999974E-6> : tensor<64x1xf32>
      %cst_1 = stablehlo.constant dense<7.680000e+02> : tensor<64x1xf32>
      %cst_2 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reduce(%arg3 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %9 = stablehlo.reshape %8 : (tensor<64xf32>) -> tensor<64x1xf32>
      %10 = stablehlo.divide %9, %cst_1 : tensor<64x1xf32>
      %11 = stablehlo.reshape %10 : (tensor<64x1xf32>) -> tensor<64xf32>
      %12 = stablehlo.broadcast_in_dim %11, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %13 = stablehlo.subtract %arg3, %12 : tensor<64x768xf32>
      %14 = stablehlo.multiply %13, %13 : tensor<64x768xf32>
      %15 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x768xf32>
      %16 = stablehlo.reduce(%14 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %17 = stablehlo.reshape %16 : (tensor<64xf32>) -> tensor<64x1xf32>
      %18 = stablehlo.divide %17, %cst_1 : tensor<64x1xf32>
      %19 = stablehlo.add %18, %cst_0 : tensor<64x1xf32>
      %20 = stablehlo.rsqrt %19 : tensor<64x1xf32>
      %21 = stablehlo.divide %20, %19 : tensor<64x1xf32>
      %22 = stablehlo.multiply %21, %cst : tensor<64x1xf32>
      %23 = stablehlo.reshape %20 : (tensor<64x1xf32>) -> tensor<64xf32>
      %24 = stablehlo.broadcast_in_dim %23, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %25 = stablehlo.multiply %13, %24 : tensor<64x768xf32>
      %26 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<768xf32>) -> tensor<64x768xf32>
      %27 = stablehlo.multiply %25, %26 : tensor<64x768xf32>
      %28 = stablehlo.broadcast_in_dim %arg5, dims = [1] : (tensor<768xf32>) -> tensor<64x768xf32>
      %29 = stablehlo.add %27, %28 : tensor<64x768xf32>
      %30 = stablehlo.multiply %15, %29 : tensor<64x768xf32>
      %31 = stablehlo.multiply %30, %26 : tensor<64x768xf32>
      %32 = stablehlo.multiply %13, %31 : tensor<64x768xf32>
      %33 = stablehlo.reduce(%32 init: %cst_3) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %34 = stablehlo.reshape %33 : (tensor<64xf32>) -> tensor<64x1xf32>
      %35 = stablehlo.multiply %34, %22 : tensor<64x1xf32>
      %36 = stablehlo.divide %35, %cst_1 : tensor<64x1xf32>
      isthmus.yield %13, %20, %25, %30, %31, %36 : tensor<64x768xf32>, tensor<64x1xf32>, tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x1xf32>
    }) : (tensor<64x768xf32>, tensor<768xf32>, tensor<768xf32>) -> (tensor<64x768xf32>, tensor<64x1xf32>, tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x1xf32>)
    %1:2 = "isthmus.fusion"(%0#3, %0#2) <{schedule = ["loop results=0,1 dims=0:768 lanes=4 cuts=0,768 chunk=768 reduce=1:accumulate:1x4,3:accumulate:1x4 ns=9984"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<64x768xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64x768xf32>, tensor<f32>) -> tensor<768xf32>
      %9 = stablehlo.multiply %arg4, %arg3 : tensor<64x768xf32>
      %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64x768xf32>, tensor<f32>) -> tensor<768xf32>
      isthmus.yield %8, %10 : tensor<768xf32>, tensor<768xf32>
    }) : (tensor<64x768xf32>, tensor<64x768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
    %2 = "isthmus.fusion"(%1#0) <{schedule = ["loop results=0 dims=0:768 lanes=4 cuts=0,768 chunk=768 reduce=2:lane ns=153.6"]}> ({
    ^bb0(%arg3: tensor<768xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reshape %arg3 : (tensor<768xf32>) -> tensor<1x768xf32>
      %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x768xf32>, tensor<f32>) -> tensor<768xf32>
      isthmus.yield %9 : tensor<768xf32>
    }) : (tensor<768xf32>) -> tensor<768xf32>
    %3 = "isthmus.fusion"(%1#1) <{schedule = ["loop results=0 dims=0:768 lanes=4 cuts=0,768 chunk=768 reduce=2:lane ns=153.6"]}> ({
    ^bb0(%arg3: tensor<768xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reshape %arg3 : (tensor<768xf32>) -> tensor<1x768xf32>
      %9 = stablehlo.reduce(%8 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x768xf32>, tensor<f32>) -> tensor<768xf32>
      isthmus.yield %9 : tensor<768xf32>
    }) : (tensor<768xf32>) -> tensor<768xf32>
    %4 = "isthmus.fusion"(%0#5) <{schedule = ["loop results=0 dims=0:64 lanes=4 cuts=0,64 chunk=64 reduce=1:lane ns=12.8"]}> ({
    ^bb0(%arg3: tensor<64x1xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
      isthmus.yield %8 : tensor<64xf32>
    }) : (tensor<64x1xf32>) -> tensor<64xf32>
    %5:3 = "isthmus.fusion"(%0#0, %0#1, %0#4, %4) <{schedule = ["loop results=0,1 dims=0:64,1:768 lanes=4 cuts=0,768 chunk=768 reduce=9:row:4x4,14:row:4x4 ns=2.153e+04", "loop results=2 dims=0:64 cuts=0,64 chunk=64 reduce=9:row:4x4,14:row:4x4 ns=2.153e+04"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<64x1xf32>, %arg5: tensor<64x768xf32>, %arg6: tensor<64xf32>):
      %cst = stablehlo.constant dense<7.680000e+02> : tensor<64x1xf32>
      %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x768xf32>
      %9 = stablehlo.multiply %8, %arg3 : tensor<64x768xf32>
      %10 = stablehlo.reshape %arg4 : (tensor<64x1xf32>) -> tensor<64xf32>
      %11 = stablehlo.broadcast_in_dim %10, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %12 = stablehlo.multiply %arg5, %11 : tensor<64x768xf32>
      %13 = stablehlo.negate %12 : tensor<64x768xf32>
      %14 = stablehlo.reduce(%13 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %15 = stablehlo.reshape %14 : (tensor<64xf32>) -> tensor<64x1xf32>
      %16 = stablehlo.broadcast_in_dim %arg6, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %17 = stablehlo.multiply %16, %9 : tensor<64x768xf32>
      %18 = stablehlo.negate %17 : tensor<64x768xf32>
      %19 = stablehlo.reduce(%18 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<64x768xf32>, tensor<f32>) -> tensor<64xf32>
      %20 = stablehlo.reshape %19 : (tensor<64xf32>) -> tensor<64x1xf32>
      %21 = stablehlo.add %15, %20 : tensor<64x1xf32>
      %22 = stablehlo.divide %21, %cst : tensor<64x1xf32>
      isthmus.yield %12, %17, %22 : tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x1xf32>
    }) : (tensor<64x768xf32>, tensor<64x1xf32>, tensor<64x768xf32>, tensor<64xf32>) -> (tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x1xf32>)
    %6 = "isthmus.fusion"(%5#2) <{schedule = ["loop results=0 dims=0:64 lanes=4 cuts=0,64 chunk=64 reduce=1:lane ns=12.8"]}> ({
    ^bb0(%arg3: tensor<64x1xf32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.reduce(%arg3 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<64x1xf32>, tensor<f32>) -> tensor<64xf32>
      isthmus.yield %8 : tensor<64xf32>
    }) : (tensor<64x1xf32>) -> tensor<64xf32>
    %7 = "isthmus.fusion"(%5#0, %5#1, %6) <{schedule = ["loop results=0 dims=0:64,1:768 lanes=4 cuts=0,768 chunk=768 ns=1.475e+04"]}> ({
    ^bb0(%arg3: tensor<64x768xf32>, %arg4: tensor<64x768xf32>, %arg5: tensor<64xf32>):
      %8 = stablehlo.add %arg3, %arg4 : tensor<64x768xf32>
      %9 = stablehlo.broadcast_in_dim %arg5, dims = [0] : (tensor<64xf32>) -> tensor<64x768xf32>
      %10 = stablehlo.add %8, %9 : tensor<64x768xf32>
      isthmus.yield %10 : tensor<64x768xf32>
    }) : (tensor<64x768xf32>, tensor<64x768xf32>, tensor<64xf32>) -> tensor<64x768xf32>
    return %7, %3, %2 : tensor<64x768xf32>, tensor<768xf32>, tensor<768xf32>
  }
}

