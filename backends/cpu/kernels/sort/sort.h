// sort and top_k: isthmus_rt_sort, isthmus_rt_top_k and their descriptors.
//
// Several operands of one shape are sorted together along one dimension, always stably. The order
// is that of a generated comparator, or of the first operands as keys, compared one after another.
// Keys are much faster: use them for every comparator that is recognised to mean the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/cpu/abi.h"
#include "base/program/sort_key.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// Plain data, followed by the bytes of an element of each operand: as sortBytes makes it. The
// operands are [outer, length, inner] arrays, sorted along `length`.
//
// buffers: the operands, the results (which may be the operands' memory), and if numKeys is 0 a
// SortComparator.
struct SortDescriptor {
  int64_t outer;
  int64_t length;
  int64_t inner;
  int32_t numOperands;
  int32_t numKeys;  // operands 0 … numKeys - 1 are the keys; 0: use the comparator
  SortKey keys[kMaxSortKeys];
};

// `sort`, whose numOperands is set here, with what follows it.
std::string sortBytes(SortDescriptor sort, const std::vector<int32_t>& elementBytes);

// Returns nonzero if the elements at `left` of all operands go before those at `right`. Called from
// several threads.
extern "C" typedef int32_t (*SortComparator)(const void* const* operands, int64_t left,
                                             int64_t right);

extern "C" int32_t isthmus_rt_sort(IsthmusRun* run, const void* descriptor, void* const* buffers);

// The k largest of each row of a [rows, length] array, in descending total order (see kTotal;
// integers by value), equal ones by rising index. k <= length.
//
// buffers: operand, values [rows, k], indices [rows, k] of s32.
struct TopKDescriptor {
  int64_t rows;
  int64_t length;
  int64_t k;
  ElementType type;
  int32_t reserved;
};

extern "C" int32_t isthmus_rt_top_k(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu
