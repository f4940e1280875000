// What kernels that sort have in common: the arrays of a sort, its comparator, loops.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/codegen/simt/kernel_writer.h"
#include "compiler/codegen/simt/op_kernels.h"
#include "compiler/dialect/dialect.h"
#include "compiler/schedule/data/sort_schedule.h"
#include "isthmus/status.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace isthmus::codegen {

// Scratch memory begins with the length of the runs, for even and for odd rounds.
inline constexpr int64_t kSortHeaderBytes = 64;

struct SortArrays : SortShape {
  llvm::SmallVector<bool, 8> isCompared;  // of each argument of the comparator
  llvm::SmallVector<int64_t, 4> scratchOffsets;
  int64_t scratchBytes = kSortHeaderBytes;
  // i1 less(x0, y0, x1, y1, …): what the comparator gives of elements in registers.
  llvm::Function* less = nullptr;

  unsigned buffers() const { return static_cast<unsigned>(2 * kinds.size() + 1); }
  bool comparesArray(size_t k) const { return isCompared[2 * k] || isCompared[2 * k + 1]; }
};

// Whose arrays elements are read from, and written to.
enum class SortStorage { kOperands, kResults, kScratch };

class SortWriter {
 public:
  using Values = KernelWriter::Values;
  // Of one place in each array; what the comparator does not use may be missing.
  using Row = llvm::SmallVector<Val, 4>;

  SortWriter(const SortArrays& arrays, KernelWriter& writer)
      : a_(arrays), w_(writer), b_(writer.b()) {}

 protected:
  llvm::Value* least(llvm::Value* x, llvm::Value* y) {
    return b_.CreateSelect(b_.CreateICmpULT(x, y), x, y);
  }
  llvm::Value* base(SortStorage storage, size_t array);
  // The length of the runs that rounds of this parity merge.
  llvm::Value* runLength(int64_t parity);
  Values repeatWhile(const Values& initial,
                     const std::function<llvm::Value*(const Values&)>& condition,
                     const std::function<Values(const Values&)>& body);
  // Whether the one is less than the other.
  llvm::Value* less(const Row& x, const Row& y);
  // How many of the first `before` elements that two runs of so many elements make are of the left
  // one, where equal elements stay in their order. `isLess` gives whether element i of the right
  // run is less than element j of the left one.
  llvm::Value* leftsOf(
      llvm::Value* before, llvm::Value* lefts, llvm::Value* rights,
      const std::function<llvm::Value*(llvm::Value* right, llvm::Value* left)>& isLess);

  const SortArrays& a_;
  KernelWriter& w_;
  llvm::IRBuilder<>& b_;
};

// The kernels of a stage that groups of threads share.
OpKernels emitGroupSort(const SortArrays& arrays, const SortStage& stage, llvm::Module& module,
                        const WorkItemForm& form, const std::string& symbol);

}  // namespace isthmus::codegen
