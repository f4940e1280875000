// Windows are computed without loops where the schedule says so, and to the same results where an edited one does not.
// RUN: rm -rf %t && env ISTHMUS_DUMP=%t/dump isthmus-run %s --backend cpu | FileCheck %s
// RUN: FileCheck %s --check-prefix=CHOSEN --input-file %t/dump/0000-main/05-schedule.mlir
// RUN: mkdir -p %t/loop/main
// RUN: sed 's/ unroll=[0-9]*//' %t/dump/0000-main/05-schedule.mlir > %t/loop/main/05-schedule.mlir
// RUN: env ISTHMUS_DUMP=%t/again ISTHMUS_OVERRIDE=%t/loop isthmus-run %s --backend cpu | FileCheck %s
// RUN: not cmp %t/dump/0000-main/program.ll %t/again/0000-main/program.ll

// CHECK: [0, 1, 3, 6, 9, 12, 15, 18
// CHOSEN: unroll=
func.func @main() -> tensor<64xf32> {
  %x = stablehlo.iota dim = 0 : tensor<64xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %y = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}
