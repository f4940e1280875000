// convolution: isthmus_rt_conv and the descriptor that it takes.
//
//   result[n, x, o] = sum over window positions w and input features i of
//                     lhs'[n, x * stride + w * rhsDilation - padLow, i] * rhs[w', i, o]
//
// where lhs' is the input with lhsDilation - 1 zeros between neighbours and zeros outside, and w'
// is w, mirrored where the window is reversed. Features and batches may be grouped as StableHLO
// says. Operands and result may have their dimensions in any order: the descriptor holds strides.
// Arithmetic as in dot.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/cpu/abi.h"
#include "backends/cpu/kernels/gemm/dot.h"
#include "base/program/conv_roles.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

inline constexpr int kMaxConvSpatialDimensions = 8;

enum ConvFlags : int32_t {
  // buffers[3] is a DotEpilogue (see dot.h), called with the address of buffers[4]. Its columns are
  // the last dimension of the result, its rows all the others.
  kConvHasEpilogue = 1,
};

// How a convolution is computed.
enum class ConvForm : int32_t {
  kUndecided,       // found when it runs, for each part of one whose input has holes
  kDepthwise,       // one feature in and out of each group, without products
  kTransposedSums,  // sums over positions, with a transposed copy of the input
  kPositionSums,    // sums over positions, with both operands in place
  kPlanes,          // vectors of positions, for few output features, with a transposed input
  kWindows,         // windows that are read in place
  kProduct,         // a product of a matrix of patches and a matrix of kernels
};

// Plain data without pointers. buffers: lhs, rhs, result[, epilogue, its buffers…].
struct ConvDescriptor {
  ElementType lhsType;
  ElementType rhsType;
  ElementType resultType;
  int32_t flags;
  int32_t spatialRank;
  // As chooseConvForm says, of the kernels with the number `formKernels` (hostKernels()): where
  // there are others, the form is found anew.
  ConvForm form;
  int64_t batch;           // of the input
  int64_t inputFeatures;   // of the input, all groups
  int64_t outputFeatures;  // of the result, all groups
  int64_t featureGroups;
  int64_t batchGroups;
  int64_t resultColumns;  // last dimension of the result; 1 for a scalar
  int64_t inputBatchStride;
  int64_t inputFeatureStride;
  int64_t kernelInputStride;
  int64_t kernelOutputStride;
  int64_t outputBatchStride;
  int64_t outputFeatureStride;
  ConvSpatialRole spatial[kMaxConvSpatialDimensions];
  int32_t formKernels;
  int32_t padding;
  int64_t reserved[3];
};

// Fails when the numbers do not fit the shapes, and beyond kMaxConvSpatialDimensions.
StatusOr<ConvDescriptor> makeConvDescriptor(const DotOperand& lhs, const DotOperand& rhs,
                                            ElementType resultType,
                                            std::span<const int64_t> resultDims,
                                            const ConvNumbers& numbers);

// Decides how this machine computes `conv`, whose flags are set, once for all runs. Returns why it
// is not computed otherwise, in short.
std::string chooseConvForm(ConvDescriptor& conv);
// Has it computed in the form called `name` ("windows"), where the kernels can do that, if it suits
// or not. Why they cannot, as a part of a sentence; empty if they can.
std::string setConvForm(std::string_view name, ConvDescriptor& conv);
std::string_view formNameOf(const ConvDescriptor& conv);
// "windows for v3".
std::string describeForm(const ConvDescriptor& conv);

extern "C" int32_t isthmus_rt_conv(IsthmusRun* run, const void* descriptor, void* const* buffers);

}  // namespace isthmus::cpu
