// What library functions take the caches of a CPU to hold, in bytes: the sizes of their blocks.
// They were measured on cores with 48 KiB and 2 MiB of caches of their own; where caches are
// smaller, results are the same and take longer. Which form of a function computes a product
// depends on the caches at hand instead (TargetModel::l2Bytes).
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

// Of what is read, or added to, again and again while other operands pass.
inline constexpr int64_t kReusedBytes = 256 << 10;
// The same of columns that every row of a product reads, and of a convolution's kernel.
inline constexpr int64_t kReusedColumnBytes = 128 << 10;
inline constexpr int64_t kReusedKernelBytes = 192 << 10;
// Of both operands of a convolution, what all tiles meet before the next part is read.
inline constexpr int64_t kBlockBytes = 512 << 10;
// Of the packed rows of a block of the left operand, beside panels of the right one and sums.
inline constexpr int64_t kBlockRowsBytes = 900 << 10;
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
