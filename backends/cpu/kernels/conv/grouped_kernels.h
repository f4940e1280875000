// The inner kernel of convolutions with few features in each group.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm/gemm_kernels.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// Sums of `rows` neighbouring positions, `rowStride` elements of the input and `ldc` of the result
// apart, for all features of the groups that fill a vector. Each run is a tap: input[run.a] is the
// first position's first feature, kernel[run.b] vectors of sums' elements, one for each feature in
// of a group, of which a lane is a feature out. Groups have as many features in as out.
using GroupTile = void (*)(const GemmRun* taps, int64_t count, const void* input, int64_t rowStride,
                           const float* kernel, void* result, int64_t ldc, int rows);

// Sums over positions, for all features of the groups that fill a vector: a gradient with respect
// to the kernel. Each run is neighbouring positions: those of input[run.a] and of kernel[run.b],
// which lie `inputStep` and `kernelStep` elements apart. Row i of the result, `ldc` elements from
// the one before, is what feature i of each group gives with its features of the kernel; with
// `accumulate`, which needs a result in f32, it is added.
using GroupSums = void (*)(const GemmRun* runs, int64_t count, const void* input, int64_t inputStep,
                           const void* kernel, int64_t kernelStep, void* result, int64_t ldc,
                           bool accumulate);

// The tiles of one instruction set, for any thread.
struct GroupKernels {
  int lanes;    // of a vector of sums
  int maxRows;  // of a tile
  // For groups of so many features; null if there is none. Sums are in f32, and rounded once.
  GroupTile (*tileFor)(ElementType input, ElementType result, int64_t features);
  GroupSums (*sumsFor)(ElementType input, ElementType result, int64_t features);
};

namespace v2 {
const GroupKernels* groupKernels();
}
namespace v3 {
const GroupKernels* groupKernels();
}
namespace v4 {
const GroupKernels* groupKernels();
}

}  // namespace isthmus::cpu
