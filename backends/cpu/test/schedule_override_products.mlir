// Edited schedules of products and of attention change what is emitted, and wrong ones are refused.
// RUN: rm -rf %t && env ISTHMUS_DUMP=%t/dump isthmus-run %s --backend cpu > %t.chosen
// RUN: FileCheck %s --check-prefix=PLAIN --input-file %t/dump/0000-main/program.ll

// RUN: mkdir -p %t/narrow/main %t/rows/main %t/wrong/main
// RUN: sed 's/\("dot .*\)lanes=[0-9]*/\1lanes=1/' %t/dump/0000-main/05-schedule.mlir > %t/narrow/main/05-schedule.mlir
// RUN: env ISTHMUS_DUMP=%t/again ISTHMUS_OVERRIDE=%t/narrow isthmus-run %s --backend cpu > %t.narrow
// RUN: FileCheck %s --check-prefix=NARROW --input-file %t/again/0000-main/program.ll
// RUN: cmp %t.chosen %t.narrow

// How many rows of scores are computed at a time stands in the kernel's descriptor.
// RUN: sed 's/"attention results=0 chunk=64/"attention results=0 chunk=24/' %t/dump/0000-main/05-schedule.mlir > %t/rows/main/05-schedule.mlir
// RUN: env ISTHMUS_DUMP=%t/other ISTHMUS_OVERRIDE=%t/rows isthmus-run %s --backend cpu > %t.rows
// RUN: grep '^@descriptor' %t/dump/0000-main/program.ll > %t.before
// RUN: grep '^@descriptor' %t/other/0000-main/program.ll > %t.after
// RUN: not cmp %t.before %t.after
// RUN: cmp %t.chosen %t.rows

// RUN: sed 's/"attention results=0 chunk=64/"attention results=0 chunk=0/' %t/dump/0000-main/05-schedule.mlir > %t/wrong/main/05-schedule.mlir
// RUN: not env ISTHMUS_OVERRIDE=%t/wrong isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: sed 's/"dot results=0 of=0 sums=0/"dot results=0 of=0 sums=7/' %t/dump/0000-main/05-schedule.mlir > %t/wrong/main/05-schedule.mlir
// RUN: not env ISTHMUS_OVERRIDE=%t/wrong isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=SUMS
// RUN: sed 's/"dot results=0 of=0/"dot results=0 of=1/' %t/dump/0000-main/05-schedule.mlir > %t/wrong/main/05-schedule.mlir
// RUN: not env ISTHMUS_OVERRIDE=%t/wrong isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=OTHER

// The kernel of the product has a parameter for the row of its sums.
// PLAIN: define void @{{[a-z0-9]+}}(ptr noalias {{[^,]*}}, i64 {{[^,]*}}, i64 {{[^,]*}}, i64
// PLAIN: load <{{[0-9]+}} x float>
// PLAIN: define
// NARROW: define void @{{[a-z0-9]+}}(ptr noalias {{[^,]*}}, i64 {{[^,]*}}, i64 {{[^,]*}}, i64
// NARROW-NOT: x float>
// NARROW: define
// ROWS: chunk must be from 1 to 1024 rows
// SUMS: the sums have no room there
// OTHER: the product is another
func.func @main() -> (tensor<48x40xf32>, tensor<256x8xf32>) {
  %count = stablehlo.iota dim = 0 : tensor<2048xf32>
  %scale = stablehlo.constant dense<1.0e-3> : tensor<2048xf32>
  %small = stablehlo.multiply %count, %scale : tensor<2048xf32>
  %wave = stablehlo.sine %small : tensor<2048xf32>
  %q = stablehlo.reshape %wave : (tensor<2048xf32>) -> tensor<256x8xf32>
  %a = stablehlo.slice %wave [0:1536] : (tensor<2048xf32>) -> tensor<1536xf32>
  %b = stablehlo.slice %wave [0:1280] : (tensor<2048xf32>) -> tensor<1280xf32>
  %lhs = stablehlo.reshape %a : (tensor<1536xf32>) -> tensor<48x32xf32>
  %rhs = stablehlo.reshape %b : (tensor<1280xf32>) -> tensor<32x40xf32>
  %product = stablehlo.dot_general %lhs, %rhs, contracting_dims = [1] x [0] : (tensor<48x32xf32>, tensor<32x40xf32>) -> tensor<48x40xf32>
  %tanh = stablehlo.tanh %product : tensor<48x40xf32>

  %scores = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<256x8xf32>, tensor<256x8xf32>) -> tensor<256x256xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %most = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %mostOf = stablehlo.broadcast_in_dim %most, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
  %less = stablehlo.subtract %scores, %mostOf : tensor<256x256xf32>
  %exp = stablehlo.exponential %less : tensor<256x256xf32>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>
  %sumOf = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<256xf32>) -> tensor<256x256xf32>
  %weights = stablehlo.divide %exp, %sumOf : tensor<256x256xf32>
  %values = stablehlo.dot_general %weights, %q, contracting_dims = [1] x [0] : (tensor<256x256xf32>, tensor<256x8xf32>) -> tensor<256x8xf32>
  return %tanh, %values : tensor<48x40xf32>, tensor<256x8xf32>
}
