// Kernels of operations that are not fusions, from the operation itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/simt/work_item_kernel.h"
#include "compiler/dialect/dialect.h"
#include "compiler/target/element_kind.h"
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

// Of a product's operands and result, and what it is summed in.
struct ProductKinds {
  ElementKind lhs, rhs, result, sum;
};

// dot_general: each work-item computes some rows of one column of the result. Adds the kernels,
// whose names begin with `symbol`, to `module`. kUnimplemented for types without arithmetic.
StatusOr<OpKernels> emitDot(shlo::DotGeneralOp op, llvm::Module& module, const WorkItemForm& form,
                            const std::string& symbol);

// The same of convolution: each work-item computes one feature of some neighbouring positions.
StatusOr<OpKernels> emitConvolution(shlo::ConvolutionOp op, llvm::Module& module,
                                    const WorkItemForm& form, const std::string& symbol);

// What sums of products of `lhs` and `rhs` with results of `result` are computed in: f64 where any
// is, f32 for other reals, else the result's own type.
ElementKind accumulationKind(const ElementKind& lhs, const ElementKind& rhs,
                             const ElementKind& result, mlir::MLIRContext* context);

}  // namespace isthmus::codegen
