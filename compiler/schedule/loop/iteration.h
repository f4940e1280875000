// The shape of a kernel's loops, decided by looking at the fusion before any code is emitted.
#pragma once

#include <cstdint>

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace isthmus {

// True if dimensions `d` and `d + 1` of `value` may be run over by one loop without any op that
// `value` is computed from having to take them apart.
bool canMerge(mlir::Value value, unsigned d);

// The dimensions of `value` along which lanes would run if those of its user run along `dim`:
// walks up from `value` and returns true if a reduction over the innermost dimension, of more than
// `shortRow` elements, is met whose result differs between the lanes. Such a reduction wants the
// lanes for itself.
bool lanesMeetRowReduction(mlir::Value value, int64_t dim, int64_t shortRow);

// Adds the reductions from which `value` is computed and whose results differ along its dimension
// `dim`.
void reductionsAlong(mlir::Value value, int64_t dim, llvm::DenseSet<mlir::Operation*>& reductions);

// Whether an element of the result is computed from the operands' elements at the same index.
bool isElementwise(mlir::Operation* op);

// Where the loop over dimension `dim` of `value` (of `size`) should be cut so that pads and
// concatenations along it are decided outside of the loop's body. Without 0 and the size, sorted;
// none where there are more than `most`, up to kMaxCuts.
inline constexpr size_t kMaxCuts = 16;
llvm::SmallVector<int64_t, 4> cutsAlong(mlir::Value value, int64_t dim, size_t most);

// The dimension of `value` along which some operand of the fusion is contiguous, where that is not
// `lanesDim` although the operand varies along it: reading it along the lanes would be a transposed
// access. -1 if there is none.
int64_t transposedDim(mlir::Value value, int64_t lanesDim);

}  // namespace isthmus
