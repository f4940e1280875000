// dot_general on tensor cores: groups of threads multiply tiles that they share.
#pragma once

#include <optional>
#include <string>

#include "backends/cuda/kernels/tensor_ops.h"
#include "compiler/codegen/simt/contraction.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/target/element_kind.h"

namespace isthmus::cuda {

// A product that the kernel computes: each role is one dimension, and each operand is contiguous
// along one that 16 bytes divide, so that it is read in vectors of 16 bytes.
struct TensorDot {
  TensorType type = TensorType::kBf16;
  ElementKind result;
  int64_t batch = 1, rows = 1, columns = 1, sums = 1;
  // Of an operand (lhs: lines are rows; rhs: lines are columns), in elements.
  struct Operand {
    bool alongSums = true;  // contiguous along the sums, else along the lines
    int64_t stride = 0;     // of the other one of the two
    int64_t batchStride = 0;
  };
  Operand lhs, rhs;
};

// Nothing if tensor cores cannot compute `op` as exactly as the other kernels do, or would not do
// it faster: products of bf16 or f16 (summed in f32) and of signed 8-bit integers (summed in i32),
// of shapes as above that fill a tile.
std::optional<TensorDot> tensorDotOf(shlo::DotGeneralOp op);

// Adds the kernel `symbol` to `module`: over lhs, rhs and result in global memory, each aligned to
// 16 bytes. `units`: on how many of them groups run, which decides how large tiles are.
codegen::OpKernels emitTensorDot(const TensorDot& dot, llvm::Module& module,
                                 const codegen::WorkItemForm& form, const TensorOps& ops,
                                 int64_t units, const std::string& symbol);

}  // namespace isthmus::cuda
