// As JAX lowers it.
module @jit_sharded_step attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<256x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}, %arg1: tensor<1024x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}, %arg2: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<256x1024xf32> {jax.result_info = "result[0]"}, tensor<1024x256xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
    %1 = stablehlo.multiply %0, %0 : tensor<64x1024xf32>
    %2 = stablehlo.multiply %1, %0 : tensor<64x1024xf32>
    %3 = stablehlo.multiply %0, %0 : tensor<64x1024xf32>
    %cst = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %5 = stablehlo.multiply %4, %3 : tensor<64x1024xf32>
    %cst_0 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %7 = stablehlo.multiply %6, %2 : tensor<64x1024xf32>
    %8 = stablehlo.add %0, %7 : tensor<64x1024xf32>
    %cst_1 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %10 = stablehlo.multiply %9, %8 : tensor<64x1024xf32>
    %11 = stablehlo.tanh %10 : tensor<64x1024xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %13 = stablehlo.subtract %12, %11 : tensor<64x1024xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %15 = stablehlo.add %14, %11 : tensor<64x1024xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %17 = stablehlo.multiply %16, %15 : tensor<64x1024xf32>
    %18 = stablehlo.multiply %0, %17 : tensor<64x1024xf32>
    %19 = stablehlo.dot_general %18, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %21 = stablehlo.multiply %20, %19 : tensor<64x256xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_7 = stablehlo.constant dense<1.638400e+04> : tensor<f32>
    %22 = stablehlo.divide %cst_6, %cst_7 : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %24 = stablehlo.multiply %23, %21 : tensor<64x256xf32>
    %25 = stablehlo.dot_general %24, %18, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<64x1024xf32>) -> tensor<256x1024xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %27 = stablehlo.dot_general %24, %arg1, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<1024x256xf32>) -> tensor<64x1024xf32>
    %28 = stablehlo.multiply %0, %27 : tensor<64x1024xf32>
    %29 = stablehlo.multiply %27, %17 : tensor<64x1024xf32>
    %cst_8 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %31 = stablehlo.multiply %30, %28 : tensor<64x1024xf32>
    %32 = stablehlo.multiply %31, %13 : tensor<64x1024xf32>
    %33 = stablehlo.multiply %32, %11 : tensor<64x1024xf32>
    %34 = stablehlo.add %32, %33 : tensor<64x1024xf32>
    %cst_9 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %36 = stablehlo.multiply %35, %34 : tensor<64x1024xf32>
    %37 = stablehlo.add %29, %36 : tensor<64x1024xf32>
    %cst_10 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %38 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64x1024xf32>
    %39 = stablehlo.multiply %38, %36 : tensor<64x1024xf32>
    %40 = stablehlo.multiply %39, %5 : tensor<64x1024xf32>
    %41 = stablehlo.add %37, %40 : tensor<64x1024xf32>
    %42 = stablehlo.dot_general %41, %arg2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x1024xf32>, tensor<64x256xf32>) -> tensor<1024x256xf32>
    %43 = stablehlo.transpose %42, dims = [1, 0] : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %cst_11 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %44 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x1024xf32>
    %45 = stablehlo.multiply %44, %43 : tensor<256x1024xf32>
    %46 = stablehlo.subtract %arg0, %45 : tensor<256x1024xf32>
    %cst_12 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<1024x256xf32>
    %48 = stablehlo.multiply %47, %26 : tensor<1024x256xf32>
    %49 = stablehlo.subtract %arg1, %48 : tensor<1024x256xf32>
    return %46, %49 : tensor<256x1024xf32>, tensor<1024x256xf32>
  }
}
