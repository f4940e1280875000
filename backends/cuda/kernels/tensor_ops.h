// What tensor-core kernels ask of the device, so that a test can answer on the CPU.
#pragma once

#include <array>
#include <functional>

#include "compiler/schedule/products/tensor_product.h"
#include "llvm/IR/IRBuilder.h"

namespace isthmus::cuda {

// Registers of 32 bits hold two 16-bit elements or four of 8 bits. Fragments are those of PTX's
// mma.sync.aligned.m16n8k16 (of 16-bit elements) and m16n8k32 (of 8 bits): "a" row-major, "b"
// column-major.
struct TensorOps {
  using Builder = llvm::IRBuilder<>;
  // ldmatrix.x4: matrix j of 8 rows of 16 bytes is at the addresses of threads 8j to 8j + 7.
  std::function<std::array<llvm::Value*, 4>(Builder&, llvm::Value* address, bool transposed)>
      loadMatrices;
  // c + a * b, four sums.
  std::function<std::array<llvm::Value*, 4>(
      Builder&, TensorType, const std::array<llvm::Value*, 4>& a,
      const std::array<llvm::Value*, 2>& b, const std::array<llvm::Value*, 4>& c)>
      multiply;
  // Begins to copy 16 bytes from global memory to the group's: the first `bytes` (an i32) of them,
  // and zeros for the rest.
  std::function<void(Builder&, llvm::Value* to, llvm::Value* from, llvm::Value* bytes)> copyAsync;
  // Ends a batch of copies; waits until at most `batches` of the thread's are under way.
  std::function<void(Builder&)> endBatch;
  std::function<void(Builder&, unsigned batches)> waitForBatches;
  // As in WorkItemForm; the numbers are i32.
  std::function<llvm::Value*(Builder&)> groupIndex;
  std::function<llvm::Value*(Builder&)> threadInGroup;
  std::function<void(Builder&)> barrier;
};

// By NVVM's intrinsics, for compute capability 8.0 and newer.
TensorOps nvvmTensorOps();

}  // namespace isthmus::cuda
