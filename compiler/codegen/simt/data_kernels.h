// Operations that move data, or make it, by kernels of a device: sort, top_k, rng_bit_generator,
// fft. All but random bits, of which nothing is to be decided, as their schedules say
// (compiler/schedule/data); kInvalidArgument for an edited schedule that cannot be.
#pragma once

#include <string>

#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/dialect.h"
#include "isthmus/status.h"

namespace isthmus::codegen {

// sort, stable, by any comparator: short runs are sorted in place, then merged two by two. Adds the
// kernels, whose names begin with `symbol`, to `module`; they appear in the stages as often as they
// run. kUnimplemented for what the comparator or an element type has no code for.
StatusOr<OpKernels> emitSort(shlo::SortOp op, llvm::Module& module, const WorkItemForm& form,
                             const std::string& symbol);

// chlo.top_k, a composite of at most TargetModel::largestTopK elements a row: by groups of threads,
// which read each row once. kUnimplemented for others, and where groups have too little memory.
StatusOr<OpKernels> emitTopK(shlo::CompositeOp op, llvm::Module& module, const WorkItemForm& form,
                             const std::string& symbol);

// rng_bit_generator by threefry2x32 or philox4x32, with the words where XLA and the CPU backend
// have them. kUnimplemented for other states than two or three ui64.
StatusOr<OpKernels> emitRandomBits(shlo::RngBitGeneratorOp op, llvm::Module& module,
                                   const WorkItemForm& form, const std::string& symbol);

// fft of sizes without large prime factors. kUnimplemented for other sizes.
StatusOr<OpKernels> emitFft(shlo::FftOp op, llvm::Module& module, const WorkItemForm& form,
                            const std::string& symbol);

}  // namespace isthmus::codegen
