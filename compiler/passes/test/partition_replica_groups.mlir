// Replica groups that a mesh says become tables of ids.
// RUN: isthmus-opt %s -partition=num-partitions=8 -split-input-file -verify-diagnostics | FileCheck %s

sdy.mesh @grid = <["x"=2, "y"=4]>
// CHECK-LABEL: @along_the_minor_axis
// CHECK: replica_groups = dense<{{\[\[}}0, 1, 2, 3], [4, 5, 6, 7]]>
func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> attributes {test = @along_the_minor_axis} {
  %0 = "stablehlo.all_reduce"(%a) <{
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes = [#stablehlo.axis_ref<name = "y">]>}> ({
  ^bb0(%b: tensor<f32>, %c: tensor<f32>):
    %1 = stablehlo.add %b, %c : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

sdy.mesh @grid = <["x"=2, "y"=4]>
// CHECK-LABEL: @along_the_major_axis
// CHECK: replica_groups = dense<{{\[\[}}0, 4], [1, 5], [2, 6], [3, 7]]>
func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> attributes {test = @along_the_major_axis} {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes = [#stablehlo.axis_ref<name = "x">]>}>
    : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// The order of the axes is the order inside a group; devices are where the mesh says.
sdy.mesh @grid = <["x"=2, "y"=2, "z"=2], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
// CHECK-LABEL: @two_axes_of_a_permuted_mesh
// CHECK: replica_groups = dense<{{\[\[}}7, 3, 6, 2], [5, 1, 4, 0]]>
func.func @main(%a: tensor<4xf32>) -> tensor<16xf32> attributes {test = @two_axes_of_a_permuted_mesh} {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes = [#stablehlo.axis_ref<name = "z">, #stablehlo.axis_ref<name = "x">]>}>
    : (tensor<4xf32>) -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

// CHECK-LABEL: @part_of_an_axis_of_an_inline_mesh
// CHECK: replica_groups = dense<{{\[\[}}0, 2], [1, 3], [4, 6], [5, 7]]>
func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> attributes {test = @part_of_an_axis_of_an_inline_mesh} {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 8>]>,
      axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (2)2>]>}>
    : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// expected-error@-1 {{names axis 'w', which its mesh lacks}}

sdy.mesh @grid = <["x"=2, "y"=4]>
func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes = [#stablehlo.axis_ref<name = "w">]>}>
    : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----
// expected-error@-1 {{overlapping axes}}

sdy.mesh @grid = <["x"=2, "y"=4]>
func.func @main(%a: tensor<4xf32>) -> tensor<8xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64,
    channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids,
    replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @grid, axes = [#stablehlo.axis_ref<name = "y">, #stablehlo.axis_ref<name = "y", sub_axis_info = (2)2>]>}>
    : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
