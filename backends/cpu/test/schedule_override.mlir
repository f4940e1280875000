// An edited schedule changes the kernel that is emitted, and a wrong one is refused.
// RUN: rm -rf %t && env ISTHMUS_DUMP=%t/dump isthmus-run %s --backend cpu --output %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=PLAIN --input-file %t/dump/0000-main/program.ll

// RUN: mkdir -p %t/narrow/main %t/wrong/main
// RUN: sed 's/lanes=[0-9]*/lanes=2/' %t/dump/0000-main/05-schedule.mlir > %t/narrow/main/05-schedule.mlir
// RUN: env ISTHMUS_DUMP=%t/again ISTHMUS_OVERRIDE=%t/narrow isthmus-run %s --backend cpu | FileCheck %s
// RUN: FileCheck %s --check-prefix=NARROW --input-file %t/again/0000-main/program.ll

// RUN: sed 's/lanes=[0-9]*/lanes=3/' %t/dump/0000-main/05-schedule.mlir > %t/wrong/main/05-schedule.mlir
// RUN: not env ISTHMUS_OVERRIDE=%t/wrong isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=WRONG

// CHECK: [-0, -1, -2, -3, -4, -5, -6, -7
// PLAIN-NOT: <2 x float>
// NARROW: <2 x float>
// WRONG: lanes must be a power of two
func.func @main() -> tensor<32xf32> {
  %x = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0]> : tensor<32xf32>
  %y = stablehlo.negate %x : tensor<32xf32>
  return %y : tensor<32xf32>
}
