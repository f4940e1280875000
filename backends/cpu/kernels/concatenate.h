// Concatenation of many arrays, by copies: isthmus_rt_concatenate and its descriptor.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/cpu/abi.h"

namespace isthmus::cpu {

// The result is a matrix of bytes, and so is each operand: some columns of it. Followed by the
// columns at which the operands begin and, after the last one, end: operands + 1 numbers.
//
// buffers: the operands, then the result, which overlaps none of them.
struct ConcatenateDescriptor {
  int64_t operands;
  int64_t rows;
  int64_t minParallelBytes;  // of a result that threads share

  const int64_t* columns() const { return reinterpret_cast<const int64_t*>(this + 1); }
};

// The bytes of the descriptor for operands with rows of `rowBytes` each.
std::string concatenateDescriptor(int64_t rows, std::span<const int64_t> rowBytes,
                                  int64_t minParallelBytes);

extern "C" int32_t isthmus_rt_concatenate(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers);

}  // namespace isthmus::cpu
