module @jit_sharded_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg1: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg2: tensor<32x256xf32> {isthmus.sharding = "\08\03\1A\03\02\01\04\22\08\00\01\02\03\04\05\06\070\01"}) -> (tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[0]"}, tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %1:4 = "isthmus.fusion"(%0) <{schedule = ["loop results=0,1,2,3 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=2.202e+04"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %12 = stablehlo.multiply %arg3, %arg3 : tensor<32x256xf32>
      %13 = stablehlo.multiply %12, %arg3 : tensor<32x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %15 = stablehlo.multiply %14, %13 : tensor<32x256xf32>
      %16 = stablehlo.add %arg3, %15 : tensor<32x256xf32>
      %17 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %18 = stablehlo.multiply %17, %16 : tensor<32x256xf32>
      %19 = stablehlo.tanh %18 : tensor<32x256xf32>
      %20 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %21 = stablehlo.add %20, %19 : tensor<32x256xf32>
      %22 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %23 = stablehlo.multiply %22, %21 : tensor<32x256xf32>
      %24 = stablehlo.multiply %arg3, %23 : tensor<32x256xf32>
      isthmus.yield %12, %19, %23, %24 : tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>
    }) : (tensor<32x256xf32>) -> (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>)
    %2 = stablehlo.dot_general %1#3, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %4 = "isthmus.fusion"(%3) <{schedule = ["loop results=0 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=1638"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<6.10351563E-5> : tensor<f32>
      %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %13 = stablehlo.multiply %12, %arg3 : tensor<32x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %15 = stablehlo.multiply %14, %13 : tensor<32x256xf32>
      isthmus.yield %15 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %5 = stablehlo.dot_general %4, %1#3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %6 = "stablehlo.all_reduce"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %7 = stablehlo.dot_general %4, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %8 = "isthmus.fusion"(%1#0, %1#1, %0, %7, %1#2) <{schedule = ["loop results=0 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=6656"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>, %arg4: tensor<32x256xf32>, %arg5: tensor<32x256xf32>, %arg6: tensor<32x256xf32>, %arg7: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %cst_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %13 = stablehlo.multiply %12, %arg3 : tensor<32x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %16 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %17 = stablehlo.subtract %16, %arg4 : tensor<32x256xf32>
      %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %19 = stablehlo.multiply %arg5, %arg6 : tensor<32x256xf32>
      %20 = stablehlo.multiply %arg6, %arg7 : tensor<32x256xf32>
      %21 = stablehlo.multiply %18, %19 : tensor<32x256xf32>
      %22 = stablehlo.multiply %21, %17 : tensor<32x256xf32>
      %23 = stablehlo.multiply %22, %arg4 : tensor<32x256xf32>
      %24 = stablehlo.add %22, %23 : tensor<32x256xf32>
      %25 = stablehlo.multiply %15, %24 : tensor<32x256xf32>
      %26 = stablehlo.add %20, %25 : tensor<32x256xf32>
      %27 = stablehlo.multiply %14, %25 : tensor<32x256xf32>
      %28 = stablehlo.multiply %27, %13 : tensor<32x256xf32>
      %29 = stablehlo.add %26, %28 : tensor<32x256xf32>
      isthmus.yield %29 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
    %9 = stablehlo.dot_general %8, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %10 = "stablehlo.all_reduce"(%9) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %12 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %12 : tensor<f32>
    }) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %11:2 = "isthmus.fusion"(%6, %10, %arg0, %arg1) <{schedule = ["loop results=0,1 dims=0:256,1:256 order=transposed@0 lanes=4 cuts=0,256 chunk=64 ns=1.573e+05"]}> ({
    ^bb0(%arg3: tensor<256x256xf32>, %arg4: tensor<256x256xf32>, %arg5: tensor<256x256xf32>, %arg6: tensor<256x256xf32>):
      %cst = stablehlo.constant dense<0.00999999977> : tensor<f32>
      %12 = stablehlo.transpose %arg3, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %13 = stablehlo.transpose %arg4, dims = [1, 0] : (tensor<256x256xf32>) -> tensor<256x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %15 = stablehlo.multiply %14, %13 : tensor<256x256xf32>
      %16 = stablehlo.subtract %arg5, %15 : tensor<256x256xf32>
      %17 = stablehlo.multiply %14, %12 : tensor<256x256xf32>
      %18 = stablehlo.subtract %arg6, %17 : tensor<256x256xf32>
      isthmus.yield %16, %18 : tensor<256x256xf32>, tensor<256x256xf32>
    }) : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    return %11#0, %11#1 : tensor<256x256xf32>, tensor<256x256xf32>
  }
}

