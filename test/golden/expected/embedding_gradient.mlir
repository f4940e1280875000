module @jit_embedding_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<128xi32>, %arg1: tensor<128x64xf32>) -> (tensor<1000x64xf32> {jax.result_info = "result"}) {
    %0 = "isthmus.fusion"(%arg0) <{schedule = ["loop results=0 dims=0:128 lanes=4 cuts=0,128 chunk=128 ns=25.6"]}> ({
    ^bb0(%arg2: tensor<128xi32>):
      %c = stablehlo.constant dense<1000> : tensor<128xi32>
      %c_0 = stablehlo.constant dense<0> : tensor<128xi32>
      %4 = stablehlo.compare  LT, %arg2, %c_0,  SIGNED : (tensor<128xi32>, tensor<128xi32>) -> tensor<128xi1>
      %5 = stablehlo.add %arg2, %c : tensor<128xi32>
      %6 = stablehlo.select %4, %5, %arg2 : tensor<128xi1>, tensor<128xi32>
      isthmus.yield %6 : tensor<128xi32>
    }) : (tensor<128xi32>) -> tensor<128xi32>
    %1 = stablehlo.reshape %0 : (tensor<128xi32>) -> tensor<128x1xi32>
    %2 = "isthmus.fusion"() <{schedule = ["loop results=0 dims=0-1:64000 lanes=4 cuts=0,64000 chunk=64000 ns=6400"]}> ({
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1000x64xf32>
      isthmus.yield %4 : tensor<1000x64xf32>
    }) : () -> tensor<1000x64xf32>
    %3 = "isthmus.fusion"(%2, %1, %arg1) <{schedule = ["copy results=0 dims=0-1:64000 lanes=4 cuts=0,64000 chunk=32000 share=1 ns=4.4e+04", "scatter results=0 lanes=4 ns=2186"]}> ({
    ^bb0(%arg2: tensor<1000x64xf32>, %arg3: tensor<128x1xi32>, %arg4: tensor<128x64xf32>):
      %4 = "stablehlo.scatter"(%arg2, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
        %5 = stablehlo.add %arg5, %arg6 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<1000x64xf32>, tensor<128x1xi32>, tensor<128x64xf32>) -> tensor<1000x64xf32>
      isthmus.yield %4 : tensor<1000x64xf32>
    }) : (tensor<1000x64xf32>, tensor<128x1xi32>, tensor<128x64xf32>) -> tensor<1000x64xf32>
    return %3 : tensor<1000x64xf32>
  }
}

