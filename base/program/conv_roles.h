// The dimensions of a convolution by their roles, as the compiler schedules by them and kernels of
// the host run by them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/program/strided_array.h"

namespace isthmus {

// Sizes and strides in elements. Plain data without holes, for descriptors.
struct ConvSpatialRole {
  int64_t inputSize, kernelSize, outputSize;
  int64_t inputStride, kernelStride, outputStride;
  int64_t windowStride = 1;
  int64_t padLow = 0, padHigh = 0;  // may be negative
  int64_t lhsDilation = 1, rhsDilation = 1;
  int64_t isReversed = 0;  // 0 or 1
};

struct ConvRoles {
  int64_t batch;           // of the input
  int64_t inputFeatures;   // of the input, all groups
  int64_t outputFeatures;  // of the result, all groups
  int64_t featureGroups, batchGroups;
  int64_t inputBatchStride, inputFeatureStride;
  int64_t kernelInputStride, kernelOutputStride;
  int64_t outputBatchStride, outputFeatureStride;
  std::vector<ConvSpatialRole> spatial;
};

// The attributes of stablehlo.convolution. Empty window lists mean ones (padding: zeros, reversal:
// none); padding holds low, high for each spatial dimension.
struct ConvNumbers {
  int64_t inputBatch, inputFeature;
  std::span<const int64_t> inputSpatial;
  int64_t kernelInputFeature, kernelOutputFeature;
  std::span<const int64_t> kernelSpatial;
  int64_t outputBatch, outputFeature;
  std::span<const int64_t> outputSpatial;
  std::span<const int64_t> windowStrides;
  std::vector<int64_t> padding;
  std::span<const int64_t> lhsDilation;
  std::span<const int64_t> rhsDilation;
  std::span<const bool> windowReversal;
  int64_t featureGroupCount = 1;
  int64_t batchGroupCount = 1;
};

// Numbers of dimensions: those of each array are a permutation of its own; lists are empty or as
// long as there are spatial dimensions.
ConvRoles convRolesOf(const StridedArray& input, const StridedArray& kernel,
                      const StridedArray& output, const ConvNumbers& numbers);

}  // namespace isthmus
