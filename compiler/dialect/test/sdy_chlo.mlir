// Shardy and CHLO read back as they were written.
// RUN: isthmus-opt %s -o %t.pretty && FileCheck %s < %t.pretty
// RUN: isthmus-opt %t.pretty -o %t.again && diff %t.pretty %t.again
// RUN: isthmus-opt %s --mlir-print-op-generic -o %t.generic
// RUN: isthmus-opt %t.generic --mlir-print-op-generic -o %t.again && diff %t.generic %t.again
// RUN: isthmus-opt %t.generic -o %t.again && diff %t.pretty %t.again

// CHECK: sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @mesh = <["x"=2, "y"=4]>
// CHECK: sdy.mesh @one = <[], device_ids=[3]>
sdy.mesh @one = <[], device_ids=[3]>

// CHECK-LABEL: func.func @shardings
// CHECK-SAME: {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"y":(2)2}>}
func.func @shardings(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1], replicated={"y":(2)2}>}) -> tensor<8x8xf32> {
  // CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{}, {?}], unreduced=max{"x"}> : tensor<8x8xf32>
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {?}], unreduced=max{"x"}> : tensor<8x8xf32>
  // CHECK: sdy.manual_computation(%{{.*}}) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%{{.*}}: tensor<4x8xf32>) {
  // CHECK: sdy.return %{{.*}} : tensor<4x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    sdy.return %b : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sdy.all_gather [{"x"}, {}] %{{.*}} out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %2 = sdy.all_gather [{"x"}, {}] %1 out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  // CHECK: stablehlo.custom_call @f(%{{.*}}) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, j]) {i=8, j=4, k=2} reduction={k}, custom>} :
  %3 = stablehlo.custom_call @f(%2) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, j]) {i=8, j=4, k=2} reduction={k}, custom>} : (tensor<8x8xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.propagation_barrier %{{.*}} allowed_direction=NONE : tensor<8x8xf32>
  %4 = sdy.propagation_barrier %2 allowed_direction=NONE : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @functions
func.func @functions(%a: tensor<8xf32>, %g: tensor<2xi32>, %l: tensor<8x4xf32>, %r: tensor<2x4x3xf32>) {
  // CHECK: chlo.erf %{{.*}} : tensor<8xf32> -> tensor<8xf32>
  %0 = chlo.erf %a : tensor<8xf32> -> tensor<8xf32>
  // CHECK: chlo.zeta %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  %1 = chlo.zeta %a, %0 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
  // CHECK: %{{.*}}, %{{.*}} = chlo.top_k(%{{.*}}, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)
  %v, %i = chlo.top_k(%a, k = 3) : tensor<8xf32> -> (tensor<3xf32>, tensor<3xi32>)
  // CHECK: "chlo.ragged_dot"(%{{.*}}, %{{.*}}, %{{.*}}) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}>
  %2 = "chlo.ragged_dot"(%l, %r, %g) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<8x4xf32>, tensor<2x4x3xf32>, tensor<2xi32>) -> tensor<8x3xf32>
  return
}
