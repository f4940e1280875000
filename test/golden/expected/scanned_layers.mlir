module @jit_scanned_layers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x256x256xf32>, %arg1: tensor<32x256xf32>) -> (tensor<32x256xf32> {jax.result_info = "result[0]"}, tensor<6xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<6xf32>
    %0:3 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg1, %iterArg_1 = %cst) : tensor<i32>, tensor<32x256xf32>, tensor<6xf32>
    cond {
      %1 = "isthmus.fusion"(%iterArg) <{schedule = ["loop results=0 dims=:1 cuts=0,1 ns=1"]}> ({
      ^bb0(%arg2: tensor<i32>):
        %c_2 = stablehlo.constant dense<6> : tensor<i32>
        %2 = stablehlo.compare  LT, %arg2, %c_2,  SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        isthmus.yield %2 : tensor<i1>
      }) : (tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = "isthmus.fusion"(%arg0, %iterArg) <{schedule = ["loop results=0 dims=0-1:65536 lanes=4 cuts=0,65536 chunk=65536 ns=1.311e+04"]}> ({
      ^bb0(%arg2: tensor<6x256x256xf32>, %arg3: tensor<i32>):
        %c_2 = stablehlo.constant dense<0> : tensor<i32>
        %7 = stablehlo.dynamic_slice %arg2, %arg3, %c_2, %c_2, sizes = [1, 256, 256] : (tensor<6x256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x256xf32>
        isthmus.yield %7 : tensor<1x256x256xf32>
      }) : (tensor<6x256x256xf32>, tensor<i32>) -> tensor<1x256x256xf32>
      %2 = stablehlo.reshape %1 : (tensor<1x256x256xf32>) -> tensor<256x256xf32>
      %3 = "isthmus.fusion"(%iterArg_0, %2) <{schedule = ["dot results=0 of=0 sums=0 lanes=4 ns=1.053e+05"]}> ({
      ^bb0(%arg2: tensor<32x256xf32>, %arg3: tensor<256x256xf32>):
        %7 = stablehlo.dot_general %arg2, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
        %8 = stablehlo.tanh %7 : tensor<32x256xf32>
        isthmus.yield %8 : tensor<32x256xf32>
      }) : (tensor<32x256xf32>, tensor<256x256xf32>) -> tensor<32x256xf32>
      %4 = "isthmus.fusion"(%iterArg_0) <{schedule = ["loop results=0 dims=:1 cuts=0,1 reduce=1:row:4x4/64 ns=1024"]}> ({
      ^bb0(%arg2: tensor<32x256xf32>):
        %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
        %7 = stablehlo.reduce(%arg2 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x256xf32>, tensor<f32>) -> tensor<f32>
        isthmus.yield %7 : tensor<f32>
      }) : (tensor<32x256xf32>) -> tensor<f32>
      %5 = "isthmus.fusion"(%4, %iterArg_1, %iterArg) <{schedule = ["copy results=0 dims=0:6 lanes=4 cuts=0,6 chunk=6 ns=1", "update_slice results=0 ns=0.3"]}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<6xf32>, %arg4: tensor<i32>):
        %7 = stablehlo.reshape %arg2 : (tensor<f32>) -> tensor<1xf32>
        %8 = stablehlo.dynamic_update_slice %arg3, %7, %arg4 : (tensor<6xf32>, tensor<1xf32>, tensor<i32>) -> tensor<6xf32>
        isthmus.yield %8 : tensor<6xf32>
      }) : (tensor<f32>, tensor<6xf32>, tensor<i32>) -> tensor<6xf32>
      %6 = "isthmus.fusion"(%iterArg) <{schedule = ["loop results=0 dims=:1 cuts=0,1 ns=1"]}> ({
      ^bb0(%arg2: tensor<i32>):
        %c_2 = stablehlo.constant dense<1> : tensor<i32>
        %7 = stablehlo.add %arg2, %c_2 : tensor<i32>
        isthmus.yield %7 : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      stablehlo.return %6, %3, %5 : tensor<i32>, tensor<32x256xf32>, tensor<6xf32>
    }
    return %0#1, %0#2 : tensor<32x256xf32>, tensor<6xf32>
  }
}

