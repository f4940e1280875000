// The numbers in small integer arrays that a program computes from its shapes and constants.
#pragma once

#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

namespace isthmus {

// Follows constants, sizes of dimensions, and integer arithmetic on them, in programs that say
// shapes by computing them. Answers are kept: ask again only while the values asked for live.
class KnownIntegers {
 public:
  using Numbers = llvm::SmallVector<int64_t>;

  // The elements of an integer or boolean array in row-major order, at most kMaxElements; nothing
  // if they depend on the program's inputs.
  std::optional<Numbers> of(mlir::Value value);

  static constexpr int64_t kMaxElements = 256;

 private:
  std::optional<Numbers> compute(mlir::Operation* op, mlir::Value value);

  llvm::DenseMap<mlir::Value, std::optional<Numbers>> known_;
  int depth_ = 0;
};

}  // namespace isthmus
