// Every pretty form of StableHLO reads back as it was written.
// RUN: isthmus-opt %s -o %t.pretty && FileCheck %s < %t.pretty
// RUN: isthmus-opt %t.pretty -o %t.again && diff %t.pretty %t.again
// RUN: isthmus-opt %s --mlir-print-op-generic -o %t.generic
// RUN: isthmus-opt %t.generic --mlir-print-op-generic -o %t.again && diff %t.generic %t.again
// RUN: isthmus-opt %t.generic -o %t.again && diff %t.pretty %t.again

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%a: tensor<4xf32>, %b: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  // CHECK: stablehlo.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  // CHECK: stablehlo.exponential %{{.*}} {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  %1 = stablehlo.exponential %0 {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
  // CHECK: stablehlo.compare LT, %{{.*}}, %{{.*}}, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %2 = stablehlo.compare LT, %0, %1, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %3 = stablehlo.select %2, %0, %1 : tensor<4xi1>, tensor<4xf32>
  // CHECK: stablehlo.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<i1>, tensor<4xf32>
  %4 = stablehlo.select %p, %3, %1 : tensor<i1>, tensor<4xf32>
  // CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<4xcomplex<f32>>
  %5 = stablehlo.complex %4, %3 : tensor<4xcomplex<f32>>
  // CHECK: stablehlo.real %{{.*}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %6 = stablehlo.real %5 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  // CHECK: stablehlo.reduce_precision %{{.*}}, format = e5m10 : tensor<4xf32>
  %7 = stablehlo.reduce_precision %6, format = e5m10 : tensor<4xf32>
  // CHECK: stablehlo.convert %{{.*}} {mhlo.note = "kept"} : (tensor<4xf32>) -> tensor<4xf64>
  %8 = stablehlo.convert %7 {mhlo.note = "kept"} : (tensor<4xf32>) -> tensor<4xf64>
  return %7 : tensor<4xf32>
}

// CHECK-LABEL: func.func @data_movement
func.func @data_movement(%a: tensor<2x3xf32>, %i: tensor<i32>) {
  // CHECK: stablehlo.constant dense<[1, 2]> : tensor<2xui8>
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xui8>
  // CHECK: stablehlo.constant {mhlo.note = 1 : i64} dense<0.000000e+00> : tensor<f32>
  %z = stablehlo.constant {mhlo.note = 1 : i64} dense<0.0> : tensor<f32>
  // CHECK: stablehlo.iota dim = 1 : tensor<2x3xi32>
  %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
  // CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %1 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  // CHECK: stablehlo.transpose %{{.*}}, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  %2 = stablehlo.transpose %1, dims = [2, 0, 1] : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.slice %a [0:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<2x2xf32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, %{{.*}}, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  %4 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
  // CHECK: stablehlo.dynamic_update_slice %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  %5 = stablehlo.dynamic_update_slice %a, %4, %i, %i : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  %6 = stablehlo.concatenate %a, %4, dim = 0 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>
  // CHECK: stablehlo.pad %{{.*}}, %{{.*}}, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>
  %7 = stablehlo.pad %a, %z, low = [1, -1], high = [0, 2], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>
  // CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<2x3xf32>
  %8 = stablehlo.reverse %a, dims = [0] : tensor<2x3xf32>
  // CHECK: stablehlo.reshape %{{.*}} : (tensor<2x3xf32>) -> tensor<6xf32>
  %9 = stablehlo.reshape %a : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: "stablehlo.gather"(%{{.*}}, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}>
  %g = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
  %10 = "stablehlo.gather"(%a, %g) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<1xi32>) -> tensor<1x3xf32>
  return
}

// CHECK-LABEL: func.func @contractions
func.func @contractions(%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>, %x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>) {
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] :
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>
  // CHECK: stablehlo.dot_general %{{.*}}, %{{.*}}, contracting_dims = [0, 2] x [0, 1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> :
  %1 = stablehlo.dot_general %a, %b, contracting_dims = [0, 2] x [0, 1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.convolution(%{{.*}}, %{{.*}}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = {{\[\[}}1, 1], [0, 2]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 2]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x4x4x16xf32>
  // CHECK: stablehlo.fft %{{.*}}, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  %f = stablehlo.constant dense<1.0> : tensor<8xf32>
  %3 = stablehlo.fft %f, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// CHECK-LABEL: func.func @regions
func.func @regions(%a: tensor<2x3xf32>, %z: tensor<f32>, %n: tensor<i32>) {
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: stablehlo.reduce(%{{.*}} init: %{{.*}}), (%{{.*}} init: %{{.*}}) across dimensions = [0] :
  // CHECK-NEXT: reducer(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>) (%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>) {
  %1:2 = stablehlo.reduce(%a init: %z), (%a init: %z) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
   reducer(%p: tensor<f32>, %q: tensor<f32>) (%r: tensor<f32>, %s: tensor<f32>) {
    %m = stablehlo.maximum %p, %q : tensor<f32>
    stablehlo.return %m, %s : tensor<f32>, tensor<f32>
  }
  // CHECK: stablehlo.while(%[[I:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) : tensor<i32>, tensor<2x3xf32>
  // CHECK-NEXT: cond {
  // CHECK: } do {
  %2:2 = stablehlo.while(%i = %n, %v = %a) : tensor<i32>, tensor<2x3xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %d = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %d, %v : tensor<i32>, tensor<2x3xf32>
  }
  // CHECK: "stablehlo.case"(%{{.*}}) ({
  %3 = "stablehlo.case"(%n) ({
    stablehlo.return %z : tensor<f32>
  }, {
    stablehlo.return %z : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  // CHECK: "stablehlo.sort"(%{{.*}}) <{dimension = 1 : i64, is_stable = true}> ({
  %4 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare LT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.optimization_barrier %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<f32>
  %5:2 = stablehlo.optimization_barrier %a, %z : tensor<2x3xf32>, tensor<f32>
  return
}

// CHECK-LABEL: func.func @calls
func.func @calls(%a: tensor<4xf32>) {
  // CHECK: stablehlo.custom_call @solve(%{{.*}}) {backend_config = "x", has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = stablehlo.custom_call @solve(%a) {backend_config = "x", has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @ffi(%{{.*}}) {api_version = 4 : i32, backend_config = {n = 1 : i64}
  %1 = stablehlo.custom_call @ffi(%a) {api_version = 4 : i32, backend_config = {n = 1 : i64}, operand_layouts = [dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.composite "my.op" %{{.*}} {composite_attributes = {k = 1 : i64}, decomposition = @my_op, version = 1 : i32} :
  %2 = stablehlo.composite "my.op" %a {composite_attributes = {k = 1 : i64}, decomposition = @my_op, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: stablehlo.tuple %{{.*}}, %{{.*}} : tuple<tensor<4xf32>, tensor<4xf32>>
  %3 = stablehlo.tuple %a, %2 : tuple<tensor<4xf32>, tensor<4xf32>>
  // CHECK: stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  %4 = stablehlo.get_tuple_element %3[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return
}
func.func private @my_op(tensor<4xf32>) -> tensor<4xf32>

// CHECK-LABEL: func.func @collectives
func.func @collectives(%a: tensor<4xf32>) {
  // CHECK: stablehlo.after_all  : !stablehlo.token
  %t = stablehlo.after_all : !stablehlo.token
  // CHECK: stablehlo.partition_id : tensor<ui32>
  %p = stablehlo.partition_id : tensor<ui32>
  // CHECK: "stablehlo.all_reduce"(%{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<{{.*}}> : tensor<1x2xi64>, use_global_device_ids}> ({
  %0 = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.send"(%{{.*}}, %{{.*}}) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 2>, is_host_transfer = true}>
  %1 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}

// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: tensor<?x3xf32, #stablehlo.bounds<5, ?>>
func.func @dynamic(%a: tensor<?x3xf32, #stablehlo.bounds<5, ?>>, %d: tensor<2xi64>, %f: tensor<2x3xf32>) {
  // CHECK: stablehlo.get_dimension_size %{{.*}}, dim = 0 :
  %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<i32>
  // CHECK: stablehlo.set_dimension_size %{{.*}}, %{{.*}}, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  %1 = stablehlo.set_dimension_size %f, %0, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
  // CHECK: stablehlo.dynamic_reshape %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %2 = stablehlo.dynamic_reshape %f, %d : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: stablehlo.dynamic_broadcast_in_dim %{{.*}}, %{{.*}}, dims = [0, 1] :
  %3 = stablehlo.dynamic_broadcast_in_dim %f, %d, dims = [0, 1] : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: stablehlo.dynamic_iota %{{.*}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  %4 = stablehlo.dynamic_iota %d, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
  return
}
