// Why values go through memory between kernels and what no kernel may contain: a line for each pair.
// RUN: env ISTHMUS_LOG=compile isthmus-opt %s --to fuse 2>&1 | grep '^isthmus' | sort | FileCheck %s

// CHECK: add at start is not fused into while at loop: loops and branches read their operands from memory
// CHECK-NEXT: dot_general at twice has no epilogue {{.*}}: another operation reads the product before it
// CHECK-NEXT: dot_general at twice is not fused into sort at first: a library operation reads its operands from memory
// CHECK-NEXT: exponential at grown is not fused into dot_general at product: a library operation reads its operands from memory
// CHECK-NEXT: sort at first is not fused into maximum at second: a library operation writes its results to memory
// CHECK-NEXT: sort at sorted is not fused into negate at last: a library operation writes its results to memory
// CHECK-NEXT: tanh at bent is not fused into sort at sorted: a library operation reads its operands from memory
// CHECK-NEXT: while at loop is not fused into multiply at after: loops and branches write their results to memory
// The product and its epilogue have no line, which are one kernel.
// CHECK-NOT: {{.}}
func.func @main(%x: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) {
  %e = stablehlo.exponential %x : tensor<256x256xf32> loc("grown")
  %d = stablehlo.dot_general %e, %e, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> loc("product")
  %t = stablehlo.tanh %d : tensor<256x256xf32> loc("bent")
  %s = "stablehlo.sort"(%t) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<256x256xf32>) -> tensor<256x256xf32> loc("sorted")
  %n = stablehlo.negate %s : tensor<256x256xf32> loc("last")

  %d2 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32> loc("twice")
  %s2 = "stablehlo.sort"(%d2) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<256x256xf32>) -> tensor<256x256xf32> loc("first")
  %m2 = stablehlo.maximum %d2, %s2 : tensor<256x256xf32> loc("second")

  %one = stablehlo.constant dense<1> : tensor<i32>
  %limit = stablehlo.constant dense<9> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.add %x, %x : tensor<256x256xf32> loc("start")
  %w:2 = stablehlo.while(%i = %zero, %v = %start) : tensor<i32>, tensor<256x256xf32>
   cond {
    %p = stablehlo.compare LT, %i, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %u = stablehlo.sine %v : tensor<256x256xf32>
    stablehlo.return %j, %u : tensor<i32>, tensor<256x256xf32>
  } loc("loop")
  %after = stablehlo.multiply %w#1, %x : tensor<256x256xf32> loc("after")
  return %n, %m2, %after : tensor<256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>
}
