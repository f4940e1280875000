// Attention, its gradient, and what is like them: isthmus_rt_attention and the descriptor that it
// takes.
//
//   scores_i[b, m, s] = sum over k of lhs_i[b, m, k] * rhs_i[b, k, s]
//   weights_j[b, m, :] = f_j(scores_0[b, m, :], scores_1[b, m, :])
//   result[b, m, n] = sum over s of weights_j[b, m, s] * values[b, s, n]
//   result[b, s, n] = sum over m of weights_j[b, m, s] * values[b, m, n]
//
// where f is a generated kernel that computes rows of weights from rows of scores, and each result
// is of one of these two forms. Some rows are computed at a time, so that scores and weights exist
// in cache only.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/gemm/dot.h"

namespace isthmus::cpu {

inline constexpr int kMaxRowBuffers = 48;
inline constexpr int kMaxScores = 2;
inline constexpr int kMaxWeights = 2;
inline constexpr int kMaxRowProducts = 4;
// In place of a buffer: the rows at hand, of the first scores and weights; those of others follow
// downwards.
inline constexpr int32_t kScoresBuffer = -1;
inline constexpr int32_t kWeightsBuffer = kScoresBuffer - kMaxScores;

struct ResultDimension {
  int64_t size;
  int64_t stride;  // in elements
};

// Plain data without pointers.
struct RowProductDescriptor {
  DotDescriptor values;  // the weights are its lhs, [b, m, s] with columns next to each other
  int32_t weights;       // which
  int32_t sumsRows;      // over m
  int32_t resultBuffer;
  // The result's dimensions: batches, then m or s, and columns, however they lie in memory.
  int32_t batchRank;
  int32_t rowRank;
  int32_t columnRank;
  ResultDimension result[kMaxDotDimensions];
};

// Plain data without pointers. buffers: as the descriptors say, the kernel of rows among them.
struct AttentionDescriptor {
  DotDescriptor scores[kMaxScores];  // the result type is what the kernel reads
  RowProductDescriptor products[kMaxRowProducts];
  int32_t scoresCount;
  int32_t weightsCount;
  int32_t productCount;
  // An IsthmusKernel whose tiles are the rows of all batches; its buffers are given below.
  int32_t kernelBuffer;
  int32_t kernelBufferCount;
  ElementType weightTypes[kMaxWeights];
  int32_t sharedScores[kMaxWeights];  // which scores these may be written over; -1: none
  int32_t kernelBuffers[kMaxRowBuffers];
  int64_t rowsAtATime;
  // Of a task, at least; and of one whose sums over rows are added to those of others.
  int64_t rowsPerTask;
  int64_t rowsPerPart;
};

extern "C" int32_t isthmus_rt_attention(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers);

}  // namespace isthmus::cpu
