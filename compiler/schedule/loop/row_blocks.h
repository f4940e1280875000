// Reductions of short rows, which are folded to numbers some rows at a time.
#pragma once

#include <optional>

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Value.h"

namespace isthmus {

struct RowReductions {
  llvm::SmallVector<shlo::ReduceOp, 2> reductions;  // each after those that it reads
  llvm::SmallVector<int64_t, 4> elements;           // the shape of what they reduce
  int64_t rowSize = 0;                              // elements of a row
  bool resultsAreRows = false;  // the values have an element for each row, not for each of its
};

// The reductions that `values` are computed from, if all reduce the last dimensions of one shape
// and each is read only at the row that is being computed.
std::optional<RowReductions> rowReductionsOf(llvm::ArrayRef<mlir::Value> values);

}  // namespace isthmus
