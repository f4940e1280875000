// Products of small matrices that the threads of a sub-group compute together, in one instruction.
#pragma once

#include <cstdint>
#include <functional>

#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// The shape and layout of Intel's cl_intel_subgroup_matrix_multiply_accumulate for sub-groups of
// 16: c[8 x 16] += a[8 x k] b[k x 16], where k elements fill 32 bytes.
struct MatrixOps {
  static constexpr unsigned kThreads = 16;  // of a sub-group; thread t has column t of b and of c
  static constexpr unsigned kRows = 8;
  static constexpr unsigned kBytes = 32;  // of a row of a

  enum class Type : uint8_t { kBf16, kF16, kI8 };

  // Makes `kernel` one whose sub-groups have kThreads threads.
  std::function<void(llvm::Function& kernel)> require;
  // The numbers of the thread in its sub-group, and of the sub-group in its group: i64.
  std::function<llvm::Value*(llvm::IRBuilder<>&)> threadInSubgroup, subgroupInGroup;
  // c + a b, for c of <8 x float>, or of <8 x i32> for kI8: row i in component i. `a`, of <8 x
  // i16>, has in component i of thread t the elements of row i that lie in bytes 2 t and 2 t + 1;
  // `b`, of <8 x i32>, in component j the elements of the thread's column that lie in bytes 4 j to
  // 4 j + 3; the first in the low bits. All threads of a group call it.
  std::function<llvm::Value*(llvm::IRBuilder<>&, Type, llvm::Value* a, llvm::Value* b,
                             llvm::Value* c)>
      multiplyAdd;
};

}  // namespace isthmus::codegen
