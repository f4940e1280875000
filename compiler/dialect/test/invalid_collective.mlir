// Each rule about communication is broken once; the message has its label, what it got and what it
// expected.
// RUN: not isthmus-opt %s -split-input-file 2>&1 | FileCheck %s

func.func @all_gather_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c1: all_gather_dim is 1, expected it in [0, 1)
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c2: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c4: replica_groups have the id 2, expected all below 2
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c4_negative(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c4: replica_groups have the id -1, expected no negative one
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c5(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c5: global device ids are used but the channel is -1, expected 0 or more
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = -1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_c6(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_c6: the result is 'tensor<9xf32>' for 'tensor<4xf32>', expected it to differ in dimension 0 alone, which is a multiple
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @all_gather_c6_empty(%a: tensor<0xf32>) {
  // CHECK: error: {{.*}}all_gather_c6: dimension 0 of 'tensor<0xf32>' has size 0, expected something to gather
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<0xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @all_gather_i3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_i3: replica_groups have type 'tensor<2xi64>', expected tensor<NxMxi64>
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_gather_i3_mesh(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_gather_i3: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @all_reduce_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c1: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c3: replica_groups have the id 2, expected all below 2
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c4: global device ids are used but the channel is 0, expected 1 or more
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c5(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c5: the region takes 1 values, expected 2
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_c6(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c6: the result is 'tensor<5xf32>', expected 'tensor<4xf32>'
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @all_reduce_c7(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_c7: the result is 'tensor<4xf64>', expected 'tensor<4xf32>'
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @all_reduce_i1() {
  // CHECK: error: {{.*}}all_reduce_i1: there are no operands, expected one or more
  "stablehlo.all_reduce"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : () -> ()
  return
}

// -----

func.func @all_reduce_i2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_i2: replica_groups have type 'tensor<2xi64>', expected tensor<NxMxi64>
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_i2_empty(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_i2: global device ids are used and replica_groups are empty, expected a group
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<> : tensor<0x0xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_reduce_i2_mesh(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}all_reduce_i2: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.all_reduce"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @all_to_all_c1(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c1: split_dimension is 2, expected it in [0, 2)
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 2 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c2(%a: tensor<5x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c2: dimension 0 of 'tensor<5x3xf32>' has size 5, expected a multiple of 2
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<5x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c3(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c3: concat_dimension is 2, expected it in [0, 2)
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c4(%a: tensor<4x3xf32>) {
  // CHECK: error: 'stablehlo.all_to_all' op attribute 'split_count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 0 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c5(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c5: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c7(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c7: replica_groups have the id 2, expected all below 2
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c8(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c8: groups have 3 members, expected 2
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c8_mesh(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c8: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @all_to_all_c9(%a: tensor<4x3xf32>) {
  // CHECK: error: {{.*}}all_to_all_c9: the result is 'tensor<4x3xf32>', expected 'tensor<2x6xf32>'
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @all_to_all_c9_overflow(%a: tensor<4x9223372036854775807xf32>) {
  // CHECK: error: {{.*}}all_to_all_c9: the size of dimension 1 overflows, expected it to fit 63 bits
  %0 = "stablehlo.all_to_all"(%a) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x9223372036854775807xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @collective_broadcast_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_broadcast_c1: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_broadcast_c2: replica_groups have the id -1, expected no negative one
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c3() {
  // CHECK: error: {{.*}}collective_broadcast_c3: there are 0 operands, expected 1 or more
  "stablehlo.collective_broadcast"() <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : () -> ()
  return
}

// -----

func.func @collective_broadcast_c4(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  // CHECK: error: {{.*}}collective_broadcast_c4: the root is 'tensor<2xi32>', expected tensor<1xi32>
  %0 = "stablehlo.collective_broadcast"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_c4_absent(%a: tensor<1xi32>) {
  // CHECK: error: {{.*}}collective_broadcast_c4: there are 1 operands, expected 2 or more
  "stablehlo.collective_broadcast"(%a) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<1xi32>) -> ()
  return
}

// -----

func.func @collective_broadcast_i2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_broadcast_i2: replica_groups have type 'tensor<2xi64>', expected tensor<NxMxi64>
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_broadcast_i2_mesh(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_broadcast_i2: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_permute_c1: source_target_pairs have type 'tensor<1x3xi64>', expected tensor<Nx2xi64>
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_permute_c2: sources are [0, 0], expected no number twice
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_permute_c3: targets are [1, 1], expected no number twice
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_permute_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_permute_c4: source_target_pairs have the id -1, expected no negative one
  %0 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_c1(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_c1: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_c2: replica_groups have the id 2, expected all below 2
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_c3(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  // CHECK: error: {{.*}}collective_reduce_c3: the root is 'tensor<2xi32>', expected tensor<1xi32>
  %0 = "stablehlo.collective_reduce"(%a, %b) <{has_dynamic_root, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_c4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_c4: the region takes 1 values, expected 2
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_i2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_i2: replica_groups have type 'tensor<2xi64>', expected tensor<NxMxi64>
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_i2_mesh(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_i2: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @collective_reduce_i4(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}collective_reduce_i4: global device ids are used but the channel is 0, expected 1 or more
  %0 = "stablehlo.collective_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_scatter_c2(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c2: scatter_dimension is 1, expected it in [0, 1)
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_c3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c3: replica_groups are [0, 0], expected no number twice
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_c5(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c5: replica_groups have the id 2, expected all below 2
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_c6(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c6: global device ids are used but the channel is 0, expected 1 or more
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_c7(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c7: the region takes 1 values, expected 2
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_c8(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c8: the result is 'tensor<3xf32>' for 'tensor<4xf32>', expected it to differ in dimension 0 alone, which it divides
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @reduce_scatter_c9(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_c9: the result is 'tensor<2xf64>', expected the element type 'f32'
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @reduce_scatter_i3(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_i3: replica_groups have type 'tensor<2xi64>', expected tensor<NxMxi64>
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[0, 1]> : tensor<2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scatter_i3_mesh(%a: tensor<4xf32>) {
  // CHECK: error: {{.*}}reduce_scatter_i3: replica_groups name the mesh @missing, expected one that the module has
  %0 = "stablehlo.reduce_scatter"(%a) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @missing, axes = [#stablehlo.axis_ref<name = "x">]>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @infeed_c1(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}infeed_c1: there are no results, expected a token
  "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> ()
  return
}

// -----

func.func @infeed_c2(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}infeed_c2: a result but the last is '!stablehlo.token', expected a tensor
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @infeed_c3(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}infeed_c3: the last result is 'tensor<4xf32>', expected a token
  %0 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> tensor<4xf32>
  return
}

// -----

func.func @infeed_i2(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}infeed_i2: there are 2 layouts, expected 1
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @infeed_i2_form(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}infeed_i2: a layout is "row", expected an array of integers
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = ["row"]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @send_c1(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c1: source_target_pairs have type 'tensor<1x3xi64>', expected tensor<Nx2xi64>
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_c2(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c2: sources are [0, 0], expected no number twice
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_c3(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c3: targets are [1, 1], expected no number twice
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_c4(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c4: source_target_pairs have the id -1, expected no negative one
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_c5(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c5: the channel has type 4, expected 1
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 4>, is_host_transfer = false}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @send_c5_host(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // CHECK: error: {{.*}}send_c5: the channel has type 1, expected 2
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// -----

func.func @recv_c1(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c1: source_target_pairs have type 'tensor<1x3xi64>', expected tensor<Nx2xi64>
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_c2(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c2: sources are [0, 0], expected no number twice
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_c3(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c3: targets are [1, 1], expected no number twice
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [2, 1]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_c4(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c4: source_target_pairs have the id -1, expected no negative one
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_c5(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c5: the channel has type 4, expected 1
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 4>, is_host_transfer = false}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_c5_host(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_c5: the channel has type 1, expected 3
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @recv_results(%t: !stablehlo.token) {
  // CHECK: error: {{.*}}recv_results: there are no results, expected a token
  "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (!stablehlo.token) -> ()
  return
}

// -----

func.func @recv_results_payload(%t: !stablehlo.token) {
  // CHECK: error: 'stablehlo.recv' op recv_results: a result but the last is '!stablehlo.token', expected a tensor
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
  return
}

// -----

func.func @recv_results_token(%t: !stablehlo.token) {
  // CHECK: error: 'stablehlo.recv' op recv_results: the last result is 'tensor<4xf32>', expected a token
  %0 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (!stablehlo.token) -> tensor<4xf32>
  return
}
