// RUN: isthmus-opt --list-stages | FileCheck %s --check-prefix=LIST
// RUN: isthmus-opt %s --to simplify | FileCheck %s --check-prefix=SIMPLIFY
// RUN: isthmus-opt %s --to simplify | isthmus-opt - --from fuse --to fuse | FileCheck %s --check-prefix=FUSE
// RUN: isthmus-opt %s --to schedule --times 2>&1 | FileCheck %s --check-prefix=TIMES
// RUN: not isthmus-opt %s --to nowhere 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// LIST: import
// LIST-NEXT: StableHLO text or bytecode
// LIST: legalize
// LIST: partition
// LIST: simplify
// LIST: fuse
// LIST: schedule
// LIST: plan
// LIST: generate
// LIST: load

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

// UNKNOWN: no stage to run is called nowhere
// UNKNOWN: legalize
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %b = stablehlo.add %a, %a : tensor<8xf32>
  %dead = stablehlo.add %b, %a : tensor<8xf32>
  func.return %b : tensor<8xf32>
}
