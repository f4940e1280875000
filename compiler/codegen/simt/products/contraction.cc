#include "compiler/codegen/simt/products/contraction.h"

#include <utility>

#include "compiler/dialect/array_shape.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

using Sizes = llvm::ArrayRef<int64_t>;

llvm::SmallVector<int64_t, 6> stridesOf(Sizes shape) {
  llvm::SmallVector<int64_t, 6> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

void append(DotDimensions& dims, DotDimension dim) {
  if (dim.size == 1) return;
  if (!dims.empty()) {
    DotDimension& last = dims.back();
    if (last.lhsStride == dim.size * dim.lhsStride && last.rhsStride == dim.size * dim.rhsStride) {
      last = {last.size * dim.size, dim.lhsStride, dim.rhsStride};
      return;
    }
  }
  dims.push_back(dim);
}

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
  Sizes lhsBatch = numbers.getLhsBatchingDimensions(),
        rhsBatch = numbers.getRhsBatchingDimensions();
  Sizes lhsSums = numbers.getLhsContractingDimensions();
  Sizes rhsSums = numbers.getRhsContractingDimensions();
  DotRoles roles;
  for (auto [l, r] : llvm::zip(lhsBatch, rhsBatch)) {
    append(roles.batch, {lhs[l], lhsStrides[l], rhsStrides[r]});
  }
  for (int64_t d = 0; d < static_cast<int64_t>(lhs.size()); ++d) {
    if (llvm::is_contained(lhsBatch, d) || llvm::is_contained(lhsSums, d)) continue;
    append(roles.rows, {lhs[d], lhsStrides[d], 0});
  }
  for (int64_t d = 0; d < static_cast<int64_t>(rhs.size()); ++d) {
    if (llvm::is_contained(rhsBatch, d) || llvm::is_contained(rhsSums, d)) continue;
    append(roles.columns, {rhs[d], 0, rhsStrides[d]});
  }
  // Their order is free: the lhs in memory order makes long runs.
  llvm::SmallVector<size_t, 4> order(lhsSums.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(-lhsStrides[lhsSums[a]], a) < std::pair(-lhsStrides[lhsSums[b]], b);
  });
  for (size_t i : order) {
    append(roles.sums, {lhs[lhsSums[i]], lhsStrides[lhsSums[i]], rhsStrides[rhsSums[i]]});
  }
  return roles;
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

}  // namespace isthmus::codegen
