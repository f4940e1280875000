// dot_general: each work-item computes some rows of one column of the result.
#pragma once

#include <string>
#include <vector>

#include "backends/opencl/kernels/kernel_writer.h"
#include "compiler/dialect/dialect.h"
#include "isthmus/status.h"

namespace isthmus::opencl {

struct OpKernel {
  std::string name;
  Items items{1, 1, 1};
};

// Kernels that run one after the other, each over the operands, the results and, if scratchBytes is
// not 0, that much memory.
struct OpKernels {
  std::vector<OpKernel> stages;
  int64_t scratchBytes = 0;
};

// Adds the kernels, whose names begin with `symbol`, to `module`.
StatusOr<OpKernels> emitDot(shlo::DotGeneralOp op, llvm::Module& module, const std::string& symbol);

// The same of convolution (conv.cc).
StatusOr<OpKernels> emitConvolution(shlo::ConvolutionOp op, llvm::Module& module,
                                    const std::string& symbol);

}  // namespace isthmus::opencl
