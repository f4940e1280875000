// Products of small matrices that the threads of a sub-group compute together, in one instruction.
#pragma once

#include <cstdint>
#include <functional>

#include "llvm/IR/IRBuilder.h"

namespace isthmus::codegen {

// The layout of an instruction of the device, whose shape its ProductModel says: c[rows x columns]
// += a[rows x k] b[k x columns], where k elements fill instructionBytes and a sub-group has as many
// threads as there are columns. Thread t has column t of b and of c.
struct MatrixOps {
  enum class Type : uint8_t { kBf16, kF16, kI8 };

  // Makes `kernel` one whose sub-groups have so many threads.
  std::function<void(llvm::Function& kernel)> require;
  // The numbers of the thread in its sub-group, and of the sub-group in its group: i64.
  std::function<llvm::Value*(llvm::IRBuilder<>&)> threadInSubgroup, subgroupInGroup;
  // c + a b, for c of <rows x float>, or of <rows x i32> for kI8: row i in component i. `a`, of
  // <rows x i16>, has in component i of thread t the elements of row i that lie in bytes 2 t and 2
  // t + 1: two bytes for each thread are a row. `b`, of i32s, has in component j the elements of
  // the thread's column that lie in bytes 4 j to 4 j + 3; the first in the low bits. All threads of
  // a group call it.
  std::function<llvm::Value*(llvm::IRBuilder<>&, Type, llvm::Value* a, llvm::Value* b,
                             llvm::Value* c)>
      multiplyAdd;
};

}  // namespace isthmus::codegen
