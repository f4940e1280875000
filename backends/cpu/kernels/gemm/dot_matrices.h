// A product as plain matrices, and what of it stays near: for the forms that take operands where
// they lie.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cache_sizes.h"
#include "backends/cpu/kernels/gemm/dot_problem.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu {

// One batch item as plain matrices, in elements. Pointers are to bytes, for both element types.
struct Matrices {
  int64_t m, n, k;
  const char* a;
  int64_t aRow, aStep;
  const char* b;
  int64_t bStep, bCol;
  char* c;
  int64_t cRow, cCol;
  bool swapped;  // a is the rhs of the operation, and c its result transposed
  // Elements that may be read from these pointers on: what lies there may be of other items.
  int64_t aReadable, bReadable;
  bool isOnly;  // there is one item: what is copied of it, is so once for all threads
};

// Item 0 of the batch.
Matrices itemOf(const DotProblem& p);
// The same product with its operands in each other's place.
Matrices transposed(const Matrices& x);

// Room for packed columns, on the stack.
inline constexpr int64_t kStackBytes = 16 << 10;
// Of rows whose terms lie apart, gathered to be multiplied with long rows where they lie: they stay
// near beside those.
inline constexpr int64_t kMaxGatheredRows = 16;
// Of rows that lie so already.
inline constexpr int64_t kMaxContiguousRows = 32;
// Room for a narrow operand that is gathered or padded, on the stack: for each of several items.
inline constexpr int64_t kNarrowBytes = 64 << 10;
// Up to so many, writing the result costs as much as multiplying.
inline constexpr int64_t kFewSteps = 64;
// Of sums that no result has room for.
inline constexpr int64_t kScratchSumsBytes = 1024 << 10;

// Whether the right operand stays near while all rows meet it.
inline bool isRightNear(const GemmKernels& kernels, const Matrices& x) {
  return x.bCol == 1 && x.k * x.bStep * kernels.elementBytes <= kStripBytes;
}

// Of an operand beside which rows pass through a second-level cache.
inline int64_t nearOperandBytes() { return nearCacheBytes() / 2; }

// Whole vectors of the columns.
inline int64_t paddedColumns(const GemmKernels& kernels, const Matrices& x) {
  return (x.n + kernels.vectorLanes - 1) / kernels.vectorLanes * kernels.vectorLanes;
}

// Whether few columns must be copied before rows meet whole vectors of them.
inline bool padsColumns(const GemmKernels& kernels, const Matrices& x) {
  return x.bCol != 1 || x.n % kernels.vectorLanes != 0;
}

// Sums that no result has room for are all there before an epilogue reads them: beyond what stays
// in cache, the blocked product's rectangles are better.
inline bool isRoomForSums(const DotProblem& p, const GemmKernels& kernels) {
  return p.batches * p.rows * p.cols * kernels.elementBytes <= kScratchSumsBytes;
}

}  // namespace isthmus::cpu
