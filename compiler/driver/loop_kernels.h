// Loops of a device's program that its kernels need not leave.
//
// A host that enqueues the steps of a loop spends microseconds on each round, and waits for the
// device where it reads a predicate. Where all rounds do is so little that one work-item does it in
// that time, the whole loop, with loops and branches inside of it, becomes one kernel.
#pragma once

#include <vector>

#include "compiler/codegen/simt/kernel_module.h"
#include "compiler/dialect/isthmus.h"
#include "compiler/driver/device_program.h"
#include "compiler/program/step_table.h"
#include "isthmus/status.h"
#include "llvm/ADT/DenseMap.h"

namespace isthmus {

// What a kernel was made of: a stage of a fusion, or of another operation that mayBeInLoopKernel().
struct KernelOrigin {
  mlir::Operation* op = nullptr;
  size_t stage = 0;
};
using KernelOrigins = llvm::DenseMap<int, KernelOrigin>;  // by the kernel's number

// Fusions everywhere; products and convolutions on CPUs, whose kernels share nothing between
// work-items.
bool mayBeInLoopKernel(mlir::Operation* op, const TargetModel& target);

// Adds kernels to `kernels` and launches them in place of the loops among `steps` that they run,
// whose other kernels `origins` describes. `profile` names those that are added.
Status makeLoopKernels(codegen::KernelModule& kernels, const KernelOrigins& origins,
                       StepTable& profile, std::vector<Step>& steps);

}  // namespace isthmus
