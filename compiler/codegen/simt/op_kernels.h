// Kernels of operations that are not fusions, from the operation itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/isthmus.h"
#include "isthmus/status.h"

namespace isthmus::codegen {

struct OpKernel {
  std::string name;
  Items items{1, 1, 1};
  // If not 1: each item is a group of so many threads.
  unsigned groupThreads = 1;
  bool isVector = false;  // as KernelInfo says
};

// Kernels that run one after the other, each over the operands, the results and, if scratchBytes is
// not 0, that much memory.
struct OpKernels {
  std::vector<OpKernel> stages;
  int64_t scratchBytes = 0;
};

struct ProductTask;
// Of forms that only one backend has.
using EmitTask = std::function<StatusOr<OpKernels>(mlir::Operation* op, const ProductTask& task)>;

// Adds the kernels of a dot_general or a convolution, whose names begin with `symbol`, to `module`,
// as its schedule says. kUnimplemented for types without arithmetic; kInvalidArgument for an edited
// schedule that cannot be.
StatusOr<OpKernels> emitProduct(mlir::Operation* op, llvm::Module& module, const WorkItemForm& form,
                                const std::string& symbol, const EmitTask& emitOther = nullptr);
// The same of a fusion with a dot_general: over the fusion's operands and results.
StatusOr<OpKernels> emitProductWithEpilogue(ir::FusionOp fusion, llvm::Module& module,
                                            const WorkItemForm& form, const std::string& symbol,
                                            const EmitTask& emitOther = nullptr);

}  // namespace isthmus::codegen
