// Attention and what is like it: isthmus_rt_attention and the descriptor that it takes.
//
//   result[b, m, n] = sum over s of f(scores[b, m, :])[s] * values[b, s, n]
//   scores[b, m, s] = sum over k of lhs[b, m, k] * rhs[b, k, s]
//
// where f is a generated kernel that computes rows of weights from rows of scores. Some rows are
// computed at a time, so that scores and weights exist in cache only.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm/dot.h"

namespace isthmus::cpu {

inline constexpr int kMaxRowBuffers = 48;
// In place of a buffer: the rows at hand.
inline constexpr int32_t kScoresBuffer = -1;
inline constexpr int32_t kWeightsBuffer = -2;

struct ResultDimension {
  int64_t size;
  int64_t stride;  // in elements
};

// Plain data without pointers. buffers: as the descriptors say, the kernel of rows among them.
struct AttentionDescriptor {
  DotDescriptor scores;  // its result type is what the kernel reads
  DotDescriptor values;  // the weights are its lhs, [b, m, s] with columns next to each other
  int32_t resultBuffer;
  // An IsthmusKernel whose tiles are the rows of all batches; its buffers are given below.
  int32_t kernelBuffer;
  int32_t kernelBufferCount;
  int32_t sharesRows;  // weights may be written over scores
  int32_t kernelBuffers[kMaxRowBuffers];
  int64_t rowsAtATime;
  // The result's dimensions: batches, rows and columns, however they lie in memory.
  int32_t batchRank;
  int32_t rowRank;
  int32_t columnRank;
  int32_t padding;
  ResultDimension result[kMaxDotDimensions];
};

extern "C" int32_t isthmus_rt_attention(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers);

}  // namespace isthmus::cpu
