// What library functions take the caches of a CPU to hold, in bytes: the sizes of their blocks.
// They were measured on cores with 48 KiB and 2 MiB of caches of their own. Of a smaller
// second-level cache as large a part is taken, by what only orders the same work; what decides how
// sums are cut is the same on all machines of an instruction set, as are results. Which form of a
// function computes a product depends on the caches at hand as well (TargetModel::l2Bytes).
#pragma once

#include <cstdint>

namespace isthmus::cpu {

inline constexpr int64_t kCacheLineBytes = 64;
inline constexpr int64_t kPageBytes = 4 << 10;

// ---- A core's first-level cache ----

// Of a packed panel of the right operand. Long blocks save passes over the result, which measure
// dearer than a panel that spills a little out of the cache.
inline constexpr int64_t kMaxPanelBytes = 48 << 10;
// Of each operand of a product that stays there.
inline constexpr int64_t kTinyBytes = 16 << 10;

// ---- A core's second-level cache ----

// The parts of this machine's that only order the same work. They never change. Thread-safe.
struct SecondLevelParts {
  // Of what is read, or added to, again and again while other operands pass.
  int64_t reused = 256 << 10;
  // Of the packed rows of a block of the left operand, beside panels of the right one and sums.
  int64_t blockRows = 900 << 10;
};
const SecondLevelParts& secondLevelParts();

// Of a convolution's kernel that is read again and again, and of both operands of a transposed
// convolution: these cut sums.
inline constexpr int64_t kReusedKernelBytes = 192 << 10;
inline constexpr int64_t kAddedRunsBytes = 256 << 10;
// Of columns that every row of a product reads.
inline constexpr int64_t kReusedColumnBytes = 128 << 10;
// Of a matrix that is multiplied by a row while all of its columns are summed at once.
inline constexpr int64_t kNearMatrixBytes = 256 << 10;
// Of both operands of a convolution, what all tiles meet before the next part is read.
inline constexpr int64_t kBlockBytes = 512 << 10;
// Of the right operand that is read in place at a time: its rows are on so many pages.
inline constexpr int64_t kStripBytes = 1024 << 10;
// Of sums that are collected for kernels that want them near.
inline constexpr int64_t kNearSumsBytes = 128 << 10;
// Columns of sums that are finished together, so that an epilogue finds them in cache.
inline constexpr int64_t kFinishColumns = 256;

// ---- The cache that cores share ----

// Of the right operand, packed at a time.
inline constexpr int64_t kPackedColumnsBytes = int64_t{8} << 20;
// Of the left operand, packed for all blocks of the contracted dimension at a time: by one thread,
// and by all threads together.
inline constexpr int64_t kPackedRowsBytes = int64_t{4} << 20;
inline constexpr int64_t kSharedRowsBytes = int64_t{16} << 20;
// Of both operands of a convolution, prepared at a time.
inline constexpr int64_t kPreparedBytes = 6 << 20;

}  // namespace isthmus::cpu
