// Edited LLVM IR is compiled in place of what was generated, and what cannot stand for that is refused by the file's name.
// RUN: rm -rf %t && env ISTHMUS_DUMP=%t/dump isthmus-run %s --backend cpu | FileCheck %s
// RUN: mkdir -p %t/twice/main %t/broken/main %t/circular/main %t/other/main %t/undefined/main %t/target/main

// What is dumped is what was generated; what is compiled is what was edited.
// RUN: sed -E 's/ = fneg (<[0-9]+ x float>) (.*)/ = fadd \1 \2, \2/' %t/dump/0000-main/program.ll > %t/twice/main/program.ll
// RUN: env ISTHMUS_DUMP=%t/again ISTHMUS_OVERRIDE=%t/twice isthmus-run %s --backend cpu | FileCheck %s --check-prefix=TWICE
// RUN: cmp %t/dump/0000-main/program.ll %t/again/0000-main/program.ll
// RUN: env ISTHMUS_OVERRIDE=%t/twice isthmus-run %s --backend cpu | FileCheck %s --check-prefix=TWICE

// RUN: sed 's/ = fneg / = fnegate /' %t/dump/0000-main/program.ll > %t/broken/main/program.ll
// RUN: not env ISTHMUS_OVERRIDE=%t/broken isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: sed -E 's/(%[0-9a-z.]+) = fneg (<.*>) .*/\1 = fneg \2 \1/' %t/dump/0000-main/program.ll > %t/circular/main/program.ll
// RUN: not env ISTHMUS_OVERRIDE=%t/circular isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=CIRCULAR
// RUN: sed 's/@isthmus_main/@my_main/' %t/dump/0000-main/program.ll > %t/other/main/program.ll
// RUN: not env ISTHMUS_OVERRIDE=%t/other isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed -E 's/ = fneg (<.*>) (.*)/ = call \1 @unknown(\1 \2)/' %t/dump/0000-main/program.ll > %t/undefined/main/program.ll
// RUN: sed -n -E 's/.* = fneg (<.*>) .*/declare \1 @unknown(\1)/p;T;q' %t/dump/0000-main/program.ll >> %t/undefined/main/program.ll
// RUN: not env ISTHMUS_OVERRIDE=%t/undefined isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=UNDEFINED
// RUN: sed 's/^target triple = .*/target triple = "nvptx64-nvidia-cuda"/' %t/dump/0000-main/program.ll > %t/target/main/program.ll
// RUN: not env ISTHMUS_OVERRIDE=%t/target isthmus-run %s --backend cpu 2>&1 | FileCheck %s --check-prefix=TARGET

// CHECK: [-0, -1, -2, -3, -4, -5, -6, -7
// TWICE: [0, 2, 4, 6, 8, 10, 12, 14
// BROKEN: override program.ll: line {{[0-9]+}}: expected instruction opcode
// CIRCULAR: override program.ll: Only PHI nodes may reference their own value!
// OTHER: override program.ll: it lacks the function isthmus_main
// UNDEFINED: override program.ll: nothing is called unknown, which it uses
// TARGET: override program.ll: it is for another target than
func.func @main() -> tensor<32xf32> {
  %x = stablehlo.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0]> : tensor<32xf32>
  %y = stablehlo.negate %x : tensor<32xf32>
  return %y : tensor<32xf32>
}
