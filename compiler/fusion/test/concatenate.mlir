// Few arrays are joined by a kernel; more than a kernel has room for, by copies.
// RUN: isthmus-opt %s -fuse | FileCheck %s

// CHECK-LABEL: @few
// CHECK: "isthmus.fusion"(
// CHECK: stablehlo.concatenate
func.func @few(%a: tensor<1xf32>, %b: tensor<2xf32>) -> tensor<3xf32> {
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xf32>, tensor<2xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// What is computed for it is a kernel of its own.
// CHECK-LABEL: @many
// CHECK: %[[KERNEL:.*]] = "isthmus.fusion"(
// CHECK: stablehlo.negate
// CHECK: %[[JOINED:.*]] = stablehlo.concatenate %[[KERNEL]], %arg1
// CHECK-NEXT: return %[[JOINED]]
func.func @many(%a0: tensor<1xf32>, %a1: tensor<2xf32>, %a2: tensor<1xf32>, %a3: tensor<2xf32>, %a4: tensor<1xf32>, %a5: tensor<2xf32>, %a6: tensor<1xf32>, %a7: tensor<2xf32>, %a8: tensor<1xf32>, %a9: tensor<2xf32>, %a10: tensor<1xf32>, %a11: tensor<2xf32>, %a12: tensor<1xf32>, %a13: tensor<2xf32>, %a14: tensor<1xf32>, %a15: tensor<2xf32>, %a16: tensor<1xf32>, %a17: tensor<2xf32>, %a18: tensor<1xf32>, %a19: tensor<2xf32>, %a20: tensor<1xf32>, %a21: tensor<2xf32>, %a22: tensor<1xf32>, %a23: tensor<2xf32>, %a24: tensor<1xf32>, %a25: tensor<2xf32>, %a26: tensor<1xf32>, %a27: tensor<2xf32>, %a28: tensor<1xf32>, %a29: tensor<2xf32>, %a30: tensor<1xf32>, %a31: tensor<2xf32>, %a32: tensor<1xf32>, %a33: tensor<2xf32>, %a34: tensor<1xf32>, %a35: tensor<2xf32>, %a36: tensor<1xf32>, %a37: tensor<2xf32>, %a38: tensor<1xf32>, %a39: tensor<2xf32>, %a40: tensor<1xf32>, %a41: tensor<2xf32>, %a42: tensor<1xf32>, %a43: tensor<2xf32>, %a44: tensor<1xf32>, %a45: tensor<2xf32>, %a46: tensor<1xf32>, %a47: tensor<2xf32>, %a48: tensor<1xf32>) -> tensor<73xf32> {
  %0 = stablehlo.negate %a0 : tensor<1xf32>
  %1 = stablehlo.concatenate %0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13, %a14, %a15, %a16, %a17, %a18, %a19, %a20, %a21, %a22, %a23, %a24, %a25, %a26, %a27, %a28, %a29, %a30, %a31, %a32, %a33, %a34, %a35, %a36, %a37, %a38, %a39, %a40, %a41, %a42, %a43, %a44, %a45, %a46, %a47, %a48, dim = 0 : (tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<1xf32>) -> tensor<73xf32>
  return %1 : tensor<73xf32>
}
