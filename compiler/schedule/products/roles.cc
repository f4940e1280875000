#include "compiler/schedule/products/roles.h"

#include "compiler/dialect/array_shape.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

using Sizes = llvm::ArrayRef<int64_t>;

}  // namespace

int64_t sizeOf(llvm::ArrayRef<DotDimension> dims) {
  int64_t size = 1;
  for (const DotDimension& dim : dims) size *= dim.size;
  return size;
}

DotRoles dotRolesOf(shlo::DotGeneralOp op) {
  Sizes lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  auto lhsStrides = stridesOf(lhs), rhsStrides = stridesOf(rhs);
  shlo::DotDimensionNumbersAttr numbers = op.getDotDimensionNumbers();
  return dotRolesOf({lhs, lhsStrides}, {rhs, rhsStrides},
                    {numbers.getLhsBatchingDimensions(), numbers.getRhsBatchingDimensions(),
                     numbers.getLhsContractingDimensions(), numbers.getRhsContractingDimensions()});
}

ConvRoles convRolesOf(shlo::ConvolutionOp op) {
  Sizes input = shapeOf(op.getLhs()), kernel = shapeOf(op.getRhs());
  Sizes output = shapeOf(op.getResult());
  auto inputStrides = stridesOf(input), kernelStrides = stridesOf(kernel);
  auto outputStrides = stridesOf(output);
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  ConvRoles roles{};
  roles.batch = input[dims.getInputBatchDimension()];
  roles.inputFeatures = input[dims.getInputFeatureDimension()];
  roles.outputFeatures = output[dims.getOutputFeatureDimension()];
  roles.featureGroups = static_cast<int64_t>(op.getFeatureGroupCount());
  roles.batchGroups = static_cast<int64_t>(op.getBatchGroupCount());
  roles.inputBatchStride = inputStrides[dims.getInputBatchDimension()];
  roles.inputFeatureStride = inputStrides[dims.getInputFeatureDimension()];
  roles.kernelInputStride = kernelStrides[dims.getKernelInputFeatureDimension()];
  roles.kernelOutputStride = kernelStrides[dims.getKernelOutputFeatureDimension()];
  roles.outputBatchStride = outputStrides[dims.getOutputBatchDimension()];
  roles.outputFeatureStride = outputStrides[dims.getOutputFeatureDimension()];
  for (size_t s = 0; s < dims.getInputSpatialDimensions().size(); ++s) {
    int64_t in = dims.getInputSpatialDimensions()[s];
    int64_t window = dims.getKernelSpatialDimensions()[s];
    int64_t out = dims.getOutputSpatialDimensions()[s];
    ConvSpatialRole role{input[in],        kernel[window],        output[out],
                         inputStrides[in], kernelStrides[window], outputStrides[out]};
    if (auto given = op.getWindowStrides()) role.windowStride = (*given)[s];
    if (auto given = op.getPadding()) role.padLow = given->getValues<int64_t>()[2 * s];
    if (auto given = op.getLhsDilation()) role.lhsDilation = (*given)[s];
    if (auto given = op.getRhsDilation()) role.rhsDilation = (*given)[s];
    if (auto given = op.getWindowReversal()) role.isReversed = (*given)[s];
    roles.spatial.push_back(role);
  }
  return roles;
}

}  // namespace isthmus
