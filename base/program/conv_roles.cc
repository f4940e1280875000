#include "base/program/conv_roles.h"

namespace isthmus {

ConvRoles convRolesOf(const StridedArray& input, const StridedArray& kernel,
                      const StridedArray& output, const ConvNumbers& numbers) {
  ConvRoles roles{};
  roles.batch = input.sizes[numbers.inputBatch];
  roles.inputFeatures = input.sizes[numbers.inputFeature];
  roles.outputFeatures = output.sizes[numbers.outputFeature];
  roles.featureGroups = numbers.featureGroupCount;
  roles.batchGroups = numbers.batchGroupCount;
  roles.inputBatchStride = input.strides[numbers.inputBatch];
  roles.inputFeatureStride = input.strides[numbers.inputFeature];
  roles.kernelInputStride = kernel.strides[numbers.kernelInputFeature];
  roles.kernelOutputStride = kernel.strides[numbers.kernelOutputFeature];
  roles.outputBatchStride = output.strides[numbers.outputBatch];
  roles.outputFeatureStride = output.strides[numbers.outputFeature];
  for (size_t i = 0; i < numbers.inputSpatial.size(); ++i) {
    const int64_t in = numbers.inputSpatial[i];
    const int64_t window = numbers.kernelSpatial[i];
    const int64_t out = numbers.outputSpatial[i];
    ConvSpatialRole role{input.sizes[in],   kernel.sizes[window],   output.sizes[out],
                         input.strides[in], kernel.strides[window], output.strides[out]};
    if (!numbers.windowStrides.empty()) role.windowStride = numbers.windowStrides[i];
    if (!numbers.padding.empty()) {
      role.padLow = numbers.padding[2 * i];
      role.padHigh = numbers.padding[2 * i + 1];
    }
    if (!numbers.lhsDilation.empty()) role.lhsDilation = numbers.lhsDilation[i];
    if (!numbers.rhsDilation.empty()) role.rhsDilation = numbers.rhsDilation[i];
    if (!numbers.windowReversal.empty()) role.isReversed = numbers.windowReversal[i];
    roles.spatial.push_back(role);
  }
  return roles;
}

}  // namespace isthmus
