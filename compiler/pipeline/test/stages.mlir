// RUN: isthmus-opt --list-stages | FileCheck %s --check-prefix=LIST
// RUN: isthmus-opt %s --to simplify | FileCheck %s --check-prefix=SIMPLIFY
// RUN: isthmus-opt %s --to simplify | isthmus-opt - --from fuse --to fuse | FileCheck %s --check-prefix=FUSE
// RUN: isthmus-opt %s --to schedule --times 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: not isthmus-opt %s --to nowhere 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// Every stage that is listed can be run.
// RUN: isthmus-opt %s --to import | FileCheck %s --check-prefix=IMPORT
// RUN: isthmus-opt %s --to select | FileCheck %s --check-prefix=SELECT
// RUN: isthmus-opt %s --to plan | FileCheck %s --check-prefix=PLAN
// RUN: isthmus-opt %s --to generate | FileCheck %s --check-prefix=GENERATE
// RUN: isthmus-opt %s --to compile | FileCheck %s --check-prefix=COMPILE
// RUN: isthmus-opt %s --to load --times 2>&1 | FileCheck %s --check-prefix=LOAD
// RUN: isthmus-opt %s --to schedule | isthmus-opt - --from schedule --to plan | FileCheck %s --check-prefix=PLAN
// RUN: isthmus-run %s --backend cpu --times "dense<1.0> : tensor<8xf32>" 2>&1 | FileCheck %s --check-prefix=TIMED
// RUN: not isthmus-opt %s --from plan --to load 2>&1 | FileCheck %s --check-prefix=FROM

// LIST: import
// LIST-NEXT: StableHLO text or bytecode
// LIST: legalize
// LIST: partition
// LIST: simplify
// LIST: fuse
// LIST: schedule
// LIST: select
// LIST: plan
// LIST: generate
// LIST: compile
// LIST: load

// IMPORT: stablehlo.constant
// IMPORT-COUNT-2: stablehlo.add
// SELECT: define {{.*}}kernel0
// SELECT-NOT: isthmus_main
// PLAN: parameter 0
// PLAN: result 0
// GENERATE: define {{.*}}isthmus_main
// COMPILE: isthmus_main:
// LOAD: import {{.*}} ms
// LOAD-NEXT: legalize {{.*}} ms
// LOAD-NEXT: partition {{.*}} ms
// LOAD-NEXT: simplify {{.*}} ms
// LOAD-NEXT: fuse {{.*}} ms
// LOAD-NEXT: schedule {{.*}} ms
// LOAD-NEXT: select {{.*}} ms
// LOAD-NEXT: plan {{.*}} ms
// LOAD-NEXT: generate {{.*}} ms
// LOAD-NEXT: compile {{.*}} ms
// LOAD-NEXT: load {{.*}} ms
// LOAD: loaded {{[1-9][0-9]*}} bytes of code
// TIMED: import {{.*}} ms
// TIMED: load {{.*}} ms
// FROM: programs are read before legalize to schedule, not before plan

// One addition is left, and no kernel yet.
// SIMPLIFY-NOT: isthmus.fusion
// SIMPLIFY: stablehlo.add
// SIMPLIFY-NOT: stablehlo.add
// SIMPLIFY: return

// FUSE: isthmus.fusion
// FUSE-NOT: isthmus.schedule

// TIMES: import {{.*}} ms
// TIMES: fuse {{.*}} ms
// TIMES: schedule {{.*}} ms
// TIMES: isthmus.fusion

// UNKNOWN: no stage is called nowhere
// UNKNOWN: legalize
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %b = stablehlo.add %a, %a : tensor<8xf32>
  %dead = stablehlo.add %b, %a : tensor<8xf32>
  func.return %b : tensor<8xf32>
}
