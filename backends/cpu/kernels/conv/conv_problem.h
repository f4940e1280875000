// A convolution without input dilation, reversal or groups of both kinds, as the ways of computing
// it see it.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/element_access.h"
#include "backends/cpu/kernels/gemm/gemm.h"
#include "backends/cpu/kernels/refusals.h"

namespace isthmus::cpu {

// The spatial dimensions and the batch.
inline constexpr int kMaxConvAxes = kMaxConvSpatialDimensions + 1;

// A dimension of the output positions: a spatial one, or the batch with a window of one.
// Output position x and tap w read input position x * windowStride + w * tapStep - padLow.
struct ConvAxis {
  int64_t inputSize;
  int64_t inputStride;
  int64_t taps;
  int64_t kernelStride;  // negative where the window is reversed
  int64_t outputSize;
  int64_t outputStride;
  int64_t windowStride;
  int64_t tapStep;
  int64_t padLow;
};

// Whether each output position is the input position of its number, and no other.
inline bool isPlain(const ConvAxis& axis) {
  return axis.taps == 1 && axis.windowStride == 1 && axis.padLow == 0 &&
         axis.inputSize == axis.outputSize;
}

// An input dilated by d is a sum of d plain problems, one for each residue of output positions: a
// problem computes some of the outputs, all of them together each output once. Offsets are where
// position 0, tap 0 of group 0 are, in elements.
struct ConvProblem {
  const ConvDescriptor& conv;
  const void* lhs;
  const void* rhs;
  void* result;
  int64_t inputOffset;
  int64_t kernelOffset;
  int64_t outputOffset;
  int64_t groups;
  // From one group to the next.
  int64_t inputGroupStride;
  int64_t kernelGroupStride;
  int64_t outputGroupStride;
  int64_t inputFeatures;   // of one group
  int64_t outputFeatures;  // of one group
  // By falling output stride.
  int rank;
  ConvAxis axes[kMaxConvAxes];
  DotEpilogue epilogue;  // null if it must be called for the whole result at the end
  void* const* epilogueBuffers;

  int64_t positions() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= axes[d].outputSize;
    return n;
  }
  int64_t taps() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= axes[d].taps;
    return n;
  }
};

// The plain problems of a convolution; empty if the result is.
std::vector<ConvProblem> plainProblems(const ConvDescriptor& conv, void* const* buffers);

// The axis but the last that has most taps, and of such the one whose neighbours are nearest.
int axisOfMostTaps(const ConvProblem& problem);

// The offset in the result of position `index` of all axes but the last, whose coordinates become
// x.
int64_t outputOf(const ConvProblem& problem, int64_t index, int64_t* x);

// From the beginning of the result: how many elements lie up to the last that the problem computes.
int64_t resultSpan(const ConvProblem& problem);

// True if the features of a group form rows of the result seen as a matrix of its last dimension,
// in the order of the axes: then an epilogue can follow each tile.
bool positionsAreRows(const ConvProblem& problem);

// What is asked of a form: whether it is a good one for a problem, or whether it gives its results.
enum class Asked { kWhetherItSuits, kWhetherItCan };

// How a problem is computed: each form with why it does not suit one, or cannot compute it, in a
// few words (null: it does), and how it computes one. False for want of scratch memory.

// One feature in and out of each group, contiguous features, f32, f64 or bf16: computed without
// matrix multiplication.
const char* depthwiseRefusal(const ConvProblem& problem, GemmDomain domain, Asked asked);
bool runDepthwise(RunServices& services, const ConvProblem& problem, GemmDomain domain);

// Few output features, contiguous input features, of floats: vectors of positions, which meet lines
// of the input that are transposed.
const char* planesRefusal(const ConvProblem& problem, GemmDomain domain, Asked asked);
bool runPlanes(RunServices& services, const ConvProblem& problem, GemmDomain domain);

// Contiguous features on both sides, f32, f64 or bf16, rows of at least a few positions: windows
// are read in place.
const char* windowRefusal(const ConvProblem& problem, GemmDomain domain, Asked asked);
bool runWindowConv(RunServices& services, const ConvProblem& problem, GemmDomain domain);
// Whether windows suit the problem, and vectors run along positions with few features each.
bool windowsAreFiltered(const ConvProblem& problem, GemmDomain domain);

// Contiguous "batches" (the input features of a gradient with respect to the kernel) and output
// features in whole vectors, f32, f64 or bf16, or groups of few features in f32 or bf16: sums over
// positions with both operands in place.
const char* positionSumsRefusal(const ConvProblem& problem, GemmDomain domain, Asked asked);
bool runPositionSums(RunServices& services, const ConvProblem& problem, GemmDomain domain);

// The same of bf16 on machines whose tiles want steps of rows side by side, with any number of
// output features: a transposed copy of the input, and a packed one of the other operand.
const char* transposedSumsRefusal(const ConvProblem& problem, GemmDomain domain, Asked asked);
bool runTransposedSums(RunServices& services, const ConvProblem& problem, GemmDomain domain);

// The domain of `domain`'s sums whose kernels take patches, which are packed tap by tap: the
// features of each must fill whole blocks of a panel.
GemmDomain patchDomain(const ConvProblem& problem, GemmDomain domain);
// Any problem, as a product of a matrix of patches and a matrix of kernels. False for want of
// scratch memory.
bool runConvAsGemm(RunServices& services, const ConvProblem& problem, GemmDomain domain);

}  // namespace isthmus::cpu
