// What the pass makes of them, and that it means the same, by the evaluator.
// RUN: isthmus-opt --expand-collectives %s | FileCheck %s
// RUN: isthmus-run %s --quiet
// RUN: isthmus-opt --expand-collectives %s -o %t && isthmus-run %t --quiet

// CHECK-LABEL: @all
// CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%{{.*}}) <{all_gather_dim = 0 : i64{{.*}}}> {{.*}}-> tensor<2x2xi32>
// CHECK: %[[A:.*]] = stablehlo.slice %[[ALL]] [0:1, 0:2]
// CHECK: %[[B:.*]] = stablehlo.slice %[[ALL]] [1:2, 0:2]
// CHECK: stablehlo.xor
func.func private @all(%x: tensor<2xi32>) -> tensor<2xi32> {
  %r = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.xor %a, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// The computation is of a wider type, and takes more than one operation.
// CHECK-LABEL: @part
// CHECK: stablehlo.convert {{.*}} : (tensor<4xf32>) -> tensor<4xf64>
// CHECK: "stablehlo.all_gather"
// CHECK: stablehlo.multiply %{{.*}} : tensor<4xf64>
// CHECK: "stablehlo.reduce_scatter"(%{{.*}}) <{{.*}}scatter_dimension = 0 : i64}> ({
// CHECK: stablehlo.dynamic_slice {{.*}}sizes = [2]
func.func private @part(%x: tensor<4xf32>) -> tensor<2xf64> {
  %r = "stablehlo.reduce_scatter"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %ten = stablehlo.constant dense<10.0> : tensor<f64>
    %d = stablehlo.multiply %b, %ten : tensor<f64>
    %c = stablehlo.add %a, %d : tensor<f64>
    stablehlo.return %c : tensor<f64>
  }) {scatter_dimension = 0 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> tensor<2xf64>
  return %r : tensor<2xf64>
}

// Sums are the backends'.
// CHECK-LABEL: @sum
// CHECK-NOT: all_gather
// CHECK: "stablehlo.all_reduce"
func.func private @sum(%x: tensor<2xi32>) -> tensor<2xi32> {
  %r = "stablehlo.all_reduce"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.add %b, %a : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// CHECK-LABEL: @main
func.func @main() {
  %x0 = stablehlo.constant dense<[12, 5]> : tensor<2xi32>
  %x1 = stablehlo.constant dense<[10, 5]> : tensor<2xi32>
  %r:2 = "interpreter.run_parallel"(%x0, %x1) {programs = [[@all], [@all]]} : (tensor<2xi32>, tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>)
  check.expect_eq_const %r#0, dense<[6, 0]> : tensor<2xi32>
  check.expect_eq_const %r#1, dense<[6, 0]> : tensor<2xi32>
  %y0 = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %y1 = stablehlo.constant dense<[5.0, 6.0, 7.0, 8.0]> : tensor<4xf32>
  %s:2 = "interpreter.run_parallel"(%y0, %y1) {programs = [[@part], [@part]]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<2xf64>, tensor<2xf64>)
  check.expect_eq_const %s#0, dense<[37.0, 48.0]> : tensor<2xf64>
  check.expect_eq_const %s#1, dense<[15.0, 26.0]> : tensor<2xf64>
  func.return
}
