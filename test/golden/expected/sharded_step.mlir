module @jit_sharded_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg1: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg2: tensor<32x256xf32> {isthmus.sharding = "\08\03\1A\03\02\01\04\22\08\00\01\02\03\04\05\06\070\01"}) -> (tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[0]"}, tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %1:4 = "isthmus.fusion"(%0) <{schedule = ["loop results=0,1,2,3 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=2.202e+04"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %11 = stablehlo.multiply %arg3, %arg3 : tensor<32x256xf32>
      %12 = stablehlo.multiply %11, %arg3 : tensor<32x256xf32>
      %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %14 = stablehlo.multiply %13, %12 : tensor<32x256xf32>
      %15 = stablehlo.add %arg3, %14 : tensor<32x256xf32>
      %16 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %17 = stablehlo.multiply %16, %15 : tensor<32x256xf32>
      %18 = stablehlo.tanh %17 : tensor<32x256xf32>
      %19 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %20 = stablehlo.add %19, %18 : tensor<32x256xf32>
      %21 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %22 = stablehlo.multiply %21, %20 : tensor<32x256xf32>
      %23 = stablehlo.multiply %arg3, %22 : tensor<32x256xf32>
      isthmus.yield %11, %18, %22, %23 : tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>
    }) : (tensor<32x256xf32>) -> (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>)
    %2 = stablehlo.dot_general %1#3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %11 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %4 = "isthmus.fusion"(%3) <{schedule = ["loop results=0 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=1638"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<6.10351563E-5> : tensor<f32>
      %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %13 = stablehlo.multiply %11, %arg3 : tensor<32x256xf32>
      %14 = stablehlo.multiply %12, %13 : tensor<32x256xf32>
      isthmus.yield %14 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %5 = stablehlo.dot_general %1#3, %4, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %6 = stablehlo.dot_general %4, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %7 = "isthmus.fusion"(%1#0, %1#1, %0, %6, %1#2) <{schedule = ["loop results=0 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=6656"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>, %arg4: tensor<32x256xf32>, %arg5: tensor<32x256xf32>, %arg6: tensor<32x256xf32>, %arg7: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %cst_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %12 = stablehlo.multiply %11, %arg3 : tensor<32x256xf32>
      %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %16 = stablehlo.subtract %15, %arg4 : tensor<32x256xf32>
      %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %18 = stablehlo.multiply %arg5, %arg6 : tensor<32x256xf32>
      %19 = stablehlo.multiply %arg6, %arg7 : tensor<32x256xf32>
      %20 = stablehlo.multiply %17, %18 : tensor<32x256xf32>
      %21 = stablehlo.multiply %20, %16 : tensor<32x256xf32>
      %22 = stablehlo.multiply %21, %arg4 : tensor<32x256xf32>
      %23 = stablehlo.add %21, %22 : tensor<32x256xf32>
      %24 = stablehlo.multiply %14, %23 : tensor<32x256xf32>
      %25 = stablehlo.add %19, %24 : tensor<32x256xf32>
      %26 = stablehlo.multiply %13, %24 : tensor<32x256xf32>
      %27 = stablehlo.multiply %26, %12 : tensor<32x256xf32>
      %28 = stablehlo.add %25, %27 : tensor<32x256xf32>
      isthmus.yield %28 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
    %8 = stablehlo.dot_general %arg2, %7, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %9:2 = "stablehlo.all_reduce"(%8, %5) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %11 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %11 : tensor<f32>
    }) : (tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    %10:2 = "isthmus.fusion"(%9#0, %arg0, %9#1, %arg1) <{schedule = ["loop results=0,1 dims=0-1:65536 lanes=4 cuts=0,65536 chunk=9376 ns=1.573e+05"]}> ({
    ^bb0(%arg3: tensor<256x256xf32>, %arg4: tensor<256x256xf32>, %arg5: tensor<256x256xf32>, %arg6: tensor<256x256xf32>):
      %cst = stablehlo.constant dense<0.00999999977> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %12 = stablehlo.multiply %11, %arg3 : tensor<256x256xf32>
      %13 = stablehlo.subtract %arg4, %12 : tensor<256x256xf32>
      %14 = stablehlo.multiply %11, %arg5 : tensor<256x256xf32>
      %15 = stablehlo.subtract %arg6, %14 : tensor<256x256xf32>
      isthmus.yield %13, %15 : tensor<256x256xf32>, tensor<256x256xf32>
    }) : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    return %10#0, %10#1 : tensor<256x256xf32>, tensor<256x256xf32>
  }
}

