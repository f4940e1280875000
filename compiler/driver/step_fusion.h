// Step fusion: steps of a device's program that become one kernel.
//
// A host spends microseconds on each step that it enqueues, in each round of a loop, and waits for
// the device where it reads a predicate. Where steps do so little that one work-item does it in
// that time, they become one kernel, with the loops and branches among them.
#pragma once

#include <vector>

#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/driver/device_program.h"
#include "compiler/program/step_table.h"
#include "isthmus/status.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {

// What a kernel was made of: a stage of a fusion, or of another operation that may be fused
// (mayFuseStep).
struct KernelOrigin {
  mlir::Operation* op = nullptr;
  size_t stage = 0;
  double ns = 0;  // of a fusion's stage, on one thread: an estimate
};
using KernelOrigins = llvm::DenseMap<int, KernelOrigin>;  // by the kernel's number

// Fusions everywhere; products and convolutions on CPUs, whose kernels share nothing between
// work-items.
bool mayFuseStep(mlir::Operation* op, const TargetModel& target);

// Adds kernels to `kernels` and launches them in place of those of `steps`, and of steps inside of
// them, that they run, whose other kernels `origins` describes. `profile` names those that are
// added. Loops everywhere; launches that follow each other, and branches, on devices without groups
// of threads.
Status fuseSteps(codegen::KernelModule& kernels, const KernelOrigins& origins, StepTable& profile,
                 std::vector<Step>& steps);

}  // namespace isthmus
