// Checks a convolution's dimension numbers, and writes down its sizes and strides by role.
#include <algorithm>
#include <vector>

#include "backends/cpu/kernels/conv/conv.h"
#include "backends/cpu/kernels/element_access.h"

namespace isthmus::cpu {
namespace {

// The two numbers and the spatial ones must be a permutation of the dimensions.
Status checkRoles(const char* what, size_t rank, int64_t first, int64_t second,
                  std::span<const int64_t> spatial) {
  std::vector<bool> taken(rank);
  auto take = [&](int64_t number) {
    if (number < 0 || number >= static_cast<int64_t>(rank) || taken[number]) return false;
    taken[number] = true;
    return true;
  };
  bool good = spatial.size() + 2 == rank && take(first) && take(second);
  for (int64_t number : spatial) good = good && take(number);
  if (good) return Status();
  return invalidArgument("convolution: the ", what, " dimension numbers are no permutation of the ",
                         rank, " dimensions of the ", what);
}

Status checkCount(const char* what, size_t got, size_t expected) {
  if (got == 0 || got == expected) return Status();
  return invalidArgument("convolution: got ", got, " values of ", what, ", expected ", expected);
}

}  // namespace

StatusOr<ConvDescriptor> makeConvDescriptor(const DotOperand& lhs, const DotOperand& rhs,
                                            ElementType resultType,
                                            std::span<const int64_t> resultDims,
                                            const ConvNumbers& n) {
  size_t spatialRank = n.inputSpatial.size();
  for (ElementType type : {lhs.type, rhs.type, resultType}) {
    if (elementClass(type) == ElementClass::kNone) {
      return invalidArgument("convolution: got an operand or result of element type ",
                             static_cast<int>(type), ", expected one with arithmetic");
    }
  }
  if (n.kernelSpatial.size() != spatialRank || n.outputSpatial.size() != spatialRank) {
    return invalidArgument("convolution: got ", spatialRank, " input, ", n.kernelSpatial.size(),
                           " kernel and ", n.outputSpatial.size(), " output spatial dimensions");
  }
  if (spatialRank > kMaxConvSpatialDimensions) {
    return unimplemented("convolution: ", spatialRank, " spatial dimensions, at most ",
                         kMaxConvSpatialDimensions, " are supported");
  }
  ISTHMUS_RETURN_IF_ERROR(
      checkRoles("input", lhs.dims.size(), n.inputBatch, n.inputFeature, n.inputSpatial));
  ISTHMUS_RETURN_IF_ERROR(checkRoles("kernel", rhs.dims.size(), n.kernelInputFeature,
                                     n.kernelOutputFeature, n.kernelSpatial));
  ISTHMUS_RETURN_IF_ERROR(
      checkRoles("output", resultDims.size(), n.outputBatch, n.outputFeature, n.outputSpatial));
  ISTHMUS_RETURN_IF_ERROR(checkCount("window strides", n.windowStrides.size(), spatialRank));
  ISTHMUS_RETURN_IF_ERROR(checkCount("padding", n.padding.size(), 2 * spatialRank));
  ISTHMUS_RETURN_IF_ERROR(checkCount("lhs dilation", n.lhsDilation.size(), spatialRank));
  ISTHMUS_RETURN_IF_ERROR(checkCount("rhs dilation", n.rhsDilation.size(), spatialRank));
  ISTHMUS_RETURN_IF_ERROR(checkCount("window reversal", n.windowReversal.size(), spatialRank));

  const std::vector<int64_t> inputStrides = stridesOf(lhs), kernelStrides = stridesOf(rhs),
                             outputStrides = stridesOf({resultType, resultDims, {}});
  const ConvRoles roles = convRolesOf({lhs.dims, inputStrides}, {rhs.dims, kernelStrides},
                                      {resultDims, outputStrides}, n);
  ConvDescriptor d{};
  d.lhsType = lhs.type;
  d.rhsType = rhs.type;
  d.resultType = resultType;
  d.spatialRank = static_cast<int32_t>(spatialRank);
  d.batch = roles.batch;
  d.inputFeatures = roles.inputFeatures;
  d.outputFeatures = roles.outputFeatures;
  d.featureGroups = roles.featureGroups;
  d.batchGroups = roles.batchGroups;
  d.resultColumns = resultDims.back();
  d.inputBatchStride = roles.inputBatchStride;
  d.inputFeatureStride = roles.inputFeatureStride;
  d.kernelInputStride = roles.kernelInputStride;
  d.kernelOutputStride = roles.kernelOutputStride;
  d.outputBatchStride = roles.outputBatchStride;
  d.outputFeatureStride = roles.outputFeatureStride;
  std::copy(roles.spatial.begin(), roles.spatial.end(), d.spatial);

  // Kernels divide by these without asking again.
  if (d.featureGroups < 1 || d.batchGroups < 1 || (d.featureGroups > 1 && d.batchGroups > 1) ||
      d.inputFeatures % d.featureGroups != 0 || d.outputFeatures % d.featureGroups != 0 ||
      d.outputFeatures % d.batchGroups != 0 || d.batch % d.batchGroups != 0) {
    return invalidArgument("convolution: ", d.featureGroups, " feature groups and ", d.batchGroups,
                           " batch groups do not divide ", d.inputFeatures, " input features, ",
                           d.outputFeatures, " output features and batch ", d.batch);
  }
  if (rhs.dims[n.kernelInputFeature] != d.inputFeatures / d.featureGroups ||
      rhs.dims[n.kernelOutputFeature] != d.outputFeatures ||
      resultDims[n.outputBatch] != d.batch / d.batchGroups) {
    return invalidArgument("convolution: kernel features ", rhs.dims[n.kernelInputFeature], " and ",
                           rhs.dims[n.kernelOutputFeature], " or output batch ",
                           resultDims[n.outputBatch], " do not fit the input");
  }
  for (size_t i = 0; i < spatialRank; ++i) {
    const ConvSpatialRole& s = roles.spatial[i];
    if (s.windowStride < 1 || s.lhsDilation < 1 || s.rhsDilation < 1) {
      return invalidArgument("convolution: window strides and dilations must be positive");
    }
    // An empty dimension has no holes between its elements either. Negative padding cuts.
    int64_t input = s.inputSize == 0 ? 0 : (s.inputSize - 1) * s.lhsDilation + 1;
    int64_t window = s.kernelSize == 0 ? 0 : (s.kernelSize - 1) * s.rhsDilation + 1;
    int64_t padded = input + s.padLow + s.padHigh;
    int64_t expected = padded < window || padded <= 0 ? 0 : (padded - window) / s.windowStride + 1;
    if (s.outputSize != expected) {
      return invalidArgument("convolution: output spatial dimension ", i, " has size ",
                             s.outputSize, ", expected ", expected);
    }
  }
  return d;
}

}  // namespace isthmus::cpu
