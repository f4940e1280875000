// dot_general: isthmus_rt_dot and the descriptor that it takes.
//
//   result[b, m, n] = sum over k of lhs[b, m, k] * rhs[b, k, n]
//
// where b, m, n, k are groups of dimensions: any number of batching, lhs free, rhs free and
// contracting dimensions, each with its stride in either operand, so that transposed, sliced or
// broadcast operands need no copy. The result is dense row-major in the order b, m, n.
//
// Arithmetic: operands are converted to the accumulation type, products are summed in it (in an
// order of our choice), and the sum is converted to the result type. The accumulation type is f64
// when any type is f64, otherwise f32 for real results, c64 or c128 for complex ones, integers
// modulo 2^bits for integer results, and `or` of `and`s for pred. Every precision setting is served
// by full f32 accuracy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/abi.h"
#include "base/program/dot_roles.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

inline constexpr int kMaxDotDimensions = 24;

enum DotFlags : int32_t {
  // There is a SumsEpilogue, which is called instead of storing the result.
  kDotHasEpilogue = 1,
  // Of the form: the operands change places, and the result is written transposed.
  kDotIsSwapped = 2,
  // Of the form: a matrix times a vector, and so little work that reading the descriptor would be
  // most of it.
  kDotIsNear = 4,
};

// How a product is computed. All but kBlocked are of f32 or f64, with operands where they lie.
enum class DotForm : int32_t {
  kUndecided,       // found when it runs
  kBlocked,         // tiles of packed panels
  kRowTimesMatrix,  // multiples of the matrix's rows are added up
  kDotProducts,     // vectors along the terms
  kDirect,          // tiles, some columns after the other
  kRowByRow,        // tiles of few terms, some rows after the other
  kFewColumns,      // tiles of all columns, few rows at a time
};

// Plain data without pointers; generated code holds it as a constant. Make it with
// makeDotDescriptor.
//
// buffers: lhs, rhs, result; or what the fields say of an epilogue and its buffers.
struct DotDescriptor {
  ElementType lhsType;
  ElementType rhsType;
  ElementType resultType;
  int32_t flags;
  // dims holds the batch dimensions, then m, n and k.
  int32_t batchRank;
  int32_t mRank;
  int32_t nRank;
  int32_t kRank;
  DotDimension dims[kMaxDotDimensions];
  // Which of the buffers: with an epilogue, there may be others. `sumsBuffer` is the result, or
  // with an epilogue an array of its shape whose elements are of the sums' width, where sums may
  // lie until the epilogue has read them; -1 if there is none. If it is an operand of the epilogue
  // as well, which is then updated in place, sums lie elsewhere.
  int32_t lhsBuffer;
  int32_t rhsBuffer;
  int32_t sumsBuffer;
  int32_t epilogueBuffer;
  // As chooseDotForm says, of the kernels with the number `formKernels` (hostKernels()): where
  // there are others, the form is found anew.
  DotForm form;
  int32_t formKernels;
};

// Called on each finished rectangle of sums, while it is in cache, with all buffers of the dot: the
// result seen as a row-major matrix of (product of batch and m) rows by (product of n) columns.
// Each element is covered exactly once, from any thread. `sums` is the rectangle's first, in the
// accumulation type; rows are `ldSums` elements apart.
extern "C" typedef void (*SumsEpilogue)(void* const* buffers, int64_t rowBegin, int64_t rowEnd,
                                        int64_t colBegin, int64_t colEnd, const void* sums,
                                        int64_t ldSums);

// What a convolution calls on each finished rectangle of its result, which is stored: the result
// seen as a row-major matrix of rows by columns, each element covered exactly once, from any
// thread. `buffers` is &buffers[4] of the convolution: what it holds is between the generated
// caller and the generated epilogue.
extern "C" typedef void (*DotEpilogue)(void* const* buffers, int64_t rowBegin, int64_t rowEnd,
                                       int64_t colBegin, int64_t colEnd);

// An operand: sizes of its dimensions and, when it is not dense row-major, strides in elements.
struct DotOperand {
  ElementType type;
  std::span<const int64_t> dims;
  std::span<const int64_t> strides;  // empty: dense row-major
};

// Of each dimension, in elements.
std::vector<int64_t> stridesOf(const DotOperand& operand);

// The descriptor of stablehlo.dot_general; dimension numbers as in its attribute. Adjacent
// dimensions that form one stride are merged. Fails when the numbers do not fit the operands, on
// types without arithmetic, and when more than kMaxDotDimensions remain.
StatusOr<DotDescriptor> makeDotDescriptor(const DotOperand& lhs, const DotOperand& rhs,
                                          ElementType resultType,
                                          std::span<const int64_t> lhsBatching,
                                          std::span<const int64_t> rhsBatching,
                                          std::span<const int64_t> lhsContracting,
                                          std::span<const int64_t> rhsContracting);

// Decides how this machine computes `dot`, whose flags and buffers are set, once for all runs.
// `l2Bytes` is of a core's second-level cache. Returns why it is not computed otherwise, in short.
std::string chooseDotForm(int64_t l2Bytes, DotDescriptor& dot);
// Has it computed in the form called `name` ("blocked"), with its operands in each other's place if
// `isSwapped`, where the kernels can do that, if it suits or not. Why they cannot, as a part of a
// sentence; empty if they can.
std::string setDotForm(std::string_view name, bool isSwapped, DotDescriptor& dot);
std::string_view formNameOf(const DotDescriptor& dot);
// "blocked for v3"; with ", swapped" or ", near" as the flags say, and ", in 8 parts of the terms"
// if it is split (split_k.h).
std::string describeForm(const DotDescriptor& dot);

// Terms that this machine's instructions for products of two matrices of these types add up in a
// sum of 32 bits at once, in a lane or in a tile: 1 but for narrow types.
int termsAtOnce(ElementType lhs, ElementType rhs, ElementType result);

extern "C" int32_t isthmus_rt_dot(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu
