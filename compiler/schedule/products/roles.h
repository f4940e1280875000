// dot_general and convolution by the roles of their dimensions, with strides in dense operands.
#pragma once

#include <cstdint>

#include "base/program/dot_roles.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/SmallVector.h"

namespace isthmus {

DotRoles dotRolesOf(shlo::DotGeneralOp op);

int64_t sizeOf(llvm::ArrayRef<DotDimension> dims);

// Sizes and strides in elements.
struct ConvSpatialRole {
  int64_t inputSize, kernelSize, outputSize;
  int64_t inputStride, kernelStride, outputStride;
  int64_t windowStride = 1;
  int64_t padLow = 0;  // may be negative
  int64_t lhsDilation = 1, rhsDilation = 1;
  bool isReversed = false;
};

struct ConvRoles {
  int64_t batch;           // of the input
  int64_t inputFeatures;   // of the input, all groups
  int64_t outputFeatures;  // of the result, all groups
  int64_t featureGroups, batchGroups;
  int64_t inputBatchStride, inputFeatureStride;
  int64_t kernelInputStride, kernelOutputStride;
  int64_t outputBatchStride, outputFeatureStride;
  llvm::SmallVector<ConvSpatialRole, 3> spatial;
};
ConvRoles convRolesOf(shlo::ConvolutionOp op);

}  // namespace isthmus
