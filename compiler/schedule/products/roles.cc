#include "compiler/schedule/products/roles.h"

#include "compiler/dialect/types/array_shape.h"
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

ConvNumbers convNumbersOf(shlo::ConvolutionOp op) {
  shlo::ConvDimensionNumbersAttr dims = op.getDimensionNumbers();
  ConvNumbers numbers{};
  numbers.inputBatch = dims.getInputBatchDimension();
  numbers.inputFeature = dims.getInputFeatureDimension();
  numbers.inputSpatial = dims.getInputSpatialDimensions();
  numbers.kernelInputFeature = dims.getKernelInputFeatureDimension();
  numbers.kernelOutputFeature = dims.getKernelOutputFeatureDimension();
  numbers.kernelSpatial = dims.getKernelSpatialDimensions();
  numbers.outputBatch = dims.getOutputBatchDimension();
  numbers.outputFeature = dims.getOutputFeatureDimension();
  numbers.outputSpatial = dims.getOutputSpatialDimensions();
  if (auto given = op.getWindowStrides()) numbers.windowStrides = *given;
  if (auto given = op.getPadding()) {
    for (int64_t pad : given->getValues<int64_t>()) numbers.padding.push_back(pad);
  }
  if (auto given = op.getLhsDilation()) numbers.lhsDilation = *given;
  if (auto given = op.getRhsDilation()) numbers.rhsDilation = *given;
  if (auto given = op.getWindowReversal()) numbers.windowReversal = *given;
  numbers.featureGroupCount = static_cast<int64_t>(op.getFeatureGroupCount());
  numbers.batchGroupCount = static_cast<int64_t>(op.getBatchGroupCount());
  return numbers;
}

ConvRoles convRolesOf(shlo::ConvolutionOp op) {
  Sizes input = shapeOf(op.getLhs()), kernel = shapeOf(op.getRhs());
  Sizes output = shapeOf(op.getResult());
  auto inputStrides = stridesOf(input), kernelStrides = stridesOf(kernel);
  auto outputStrides = stridesOf(output);
  return convRolesOf({input, inputStrides}, {kernel, kernelStrides}, {output, outputStrides},
                     convNumbersOf(op));
}

}  // namespace isthmus
