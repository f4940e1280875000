module @jit_sharded_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func @main(%arg0: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg1: tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01"}, %arg2: tensor<32x256xf32> {isthmus.sharding = "\08\03\1A\03\02\01\04\22\08\00\01\02\03\04\05\06\070\01"}) -> (tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\01\04\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[0]"}, tensor<256x256xf32> {isthmus.sharding = "\08\03\1A\03\04\01\02\22\08\00\04\01\05\02\06\03\070\01", jax.result_info = "result[1]"}) {
    %0:3 = "isthmus.fusion"(%arg2, %arg0) <{schedule = ["dot results=0,1,2 of=0 sums=0 lanes=4 ns=1.094e+05"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>, %arg4: tensor<256x256xf32>):
      %9 = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %10 = stablehlo.multiply %9, %9 : tensor<32x256xf32>
      %11 = stablehlo.multiply %10, %9 : tensor<32x256xf32>
      %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %13 = stablehlo.multiply %12, %11 : tensor<32x256xf32>
      %14 = stablehlo.add %9, %13 : tensor<32x256xf32>
      %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %16 = stablehlo.multiply %15, %14 : tensor<32x256xf32>
      %17 = stablehlo.tanh %16 : tensor<32x256xf32>
      %18 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %19 = stablehlo.add %18, %17 : tensor<32x256xf32>
      %20 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %21 = stablehlo.multiply %20, %19 : tensor<32x256xf32>
      %22 = stablehlo.multiply %9, %21 : tensor<32x256xf32>
      isthmus.yield %17, %22, %9 : tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>
    }) : (tensor<32x256xf32>, tensor<256x256xf32>) -> (tensor<32x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>)
    %1 = stablehlo.dot_general %0#1, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %9 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %3 = "isthmus.fusion"(%2) <{schedule = ["loop results=0 dims=0-1:8192 lanes=4 cuts=0,8192 chunk=8192 ns=1638"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>):
      %cst = stablehlo.constant dense<6.10351563E-5> : tensor<f32>
      %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %10 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %11 = stablehlo.multiply %9, %arg3 : tensor<32x256xf32>
      %12 = stablehlo.multiply %10, %11 : tensor<32x256xf32>
      isthmus.yield %12 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>) -> tensor<32x256xf32>
    %4 = stablehlo.dot_general %0#1, %3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %5 = "isthmus.fusion"(%3, %arg1, %0#2, %0#0) <{schedule = ["dot results=0 of=0 sums=0 lanes=4 ns=9.721e+04"]}> ({
    ^bb0(%arg3: tensor<32x256xf32>, %arg4: tensor<256x256xf32>, %arg5: tensor<32x256xf32>, %arg6: tensor<32x256xf32>):
      %9 = stablehlo.dot_general %arg3, %arg4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
      %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32>
      %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
      %cst_2 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
      %cst_3 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
      %10 = stablehlo.multiply %arg5, %arg5 : tensor<32x256xf32>
      %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %12 = stablehlo.multiply %11, %10 : tensor<32x256xf32>
      %13 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %14 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %16 = stablehlo.subtract %15, %arg6 : tensor<32x256xf32>
      %17 = stablehlo.add %15, %arg6 : tensor<32x256xf32>
      %18 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x256xf32>
      %19 = stablehlo.multiply %18, %17 : tensor<32x256xf32>
      %20 = stablehlo.multiply %arg5, %9 : tensor<32x256xf32>
      %21 = stablehlo.multiply %9, %19 : tensor<32x256xf32>
      %22 = stablehlo.multiply %18, %20 : tensor<32x256xf32>
      %23 = stablehlo.multiply %22, %16 : tensor<32x256xf32>
      %24 = stablehlo.multiply %23, %arg6 : tensor<32x256xf32>
      %25 = stablehlo.add %23, %24 : tensor<32x256xf32>
      %26 = stablehlo.multiply %14, %25 : tensor<32x256xf32>
      %27 = stablehlo.add %21, %26 : tensor<32x256xf32>
      %28 = stablehlo.multiply %13, %26 : tensor<32x256xf32>
      %29 = stablehlo.multiply %28, %12 : tensor<32x256xf32>
      %30 = stablehlo.add %27, %29 : tensor<32x256xf32>
      isthmus.yield %30 : tensor<32x256xf32>
    }) : (tensor<32x256xf32>, tensor<256x256xf32>, tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<32x256xf32>
    %6 = stablehlo.dot_general %arg2, %5, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<32x256xf32>) -> tensor<256x256xf32>
    %7:2 = "stablehlo.all_reduce"(%6, %4) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %9 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    %8:2 = "isthmus.fusion"(%7#0, %arg0, %7#1, %arg1) <{schedule = ["loop results=0,1 dims=0-1:65536 lanes=4 cuts=0,65536 chunk=9376 share=1 ns=1.573e+05"]}> ({
    ^bb0(%arg3: tensor<256x256xf32>, %arg4: tensor<256x256xf32>, %arg5: tensor<256x256xf32>, %arg6: tensor<256x256xf32>):
      %cst = stablehlo.constant dense<0.00999999977> : tensor<f32>
      %9 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<256x256xf32>
      %10 = stablehlo.multiply %9, %arg3 : tensor<256x256xf32>
      %11 = stablehlo.subtract %arg4, %10 : tensor<256x256xf32>
      %12 = stablehlo.multiply %9, %arg5 : tensor<256x256xf32>
      %13 = stablehlo.subtract %arg6, %12 : tensor<256x256xf32>
      isthmus.yield %11, %13 : tensor<256x256xf32>, tensor<256x256xf32>
    }) : (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
    return %8#0, %8#1 : tensor<256x256xf32>, tensor<256x256xf32>
  }
}

