#include "compiler/passes/shapes/contraction_shapes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus {
namespace {

using Dims = llvm::SmallVector<int64_t>;
using mlir::RankedTensorType;

// The attribute's numbers; `count` times `otherwise` where it is absent or empty.
Dims numbersOr(std::optional<llvm::ArrayRef<int64_t>> numbers, size_t count, int64_t otherwise) {
  return numbers && !numbers->empty() ? Dims(*numbers) : Dims(count, otherwise);
}

// What `size` elements extend over with `dilation` - 1 more between two of them.
std::optional<int64_t> dilated(int64_t size, int64_t dilation) {
  int64_t extent;
  if (size == 0) return 0;
  if (llvm::MulOverflow(size - 1, dilation, extent) ||
      llvm::AddOverflow(extent, int64_t{1}, extent))
    return std::nullopt;
  return extent;
}

}  // namespace

std::optional<Dims> shapeOfResult(shlo::DotGeneralOp dot) {
  RankedTensorType lhs = dot.getLhs().getType(), rhs = dot.getRhs().getType();
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape()) return std::nullopt;
  shlo::DotDimensionNumbersAttr n = dot.getDotDimensionNumbers();
  Dims shape;
  for (int64_t d : n.getLhsBatchingDimensions()) shape.push_back(lhs.getDimSize(d));
  auto appendOthers = [&](RankedTensorType type, llvm::ArrayRef<int64_t> batching,
                          llvm::ArrayRef<int64_t> contracting) {
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (llvm::is_contained(batching, d) || llvm::is_contained(contracting, d)) continue;
      shape.push_back(type.getDimSize(d));
    }
  };
  appendOthers(lhs, n.getLhsBatchingDimensions(), n.getLhsContractingDimensions());
  appendOthers(rhs, n.getRhsBatchingDimensions(), n.getRhsContractingDimensions());
  return shape;
}

std::optional<Dims> shapeOfResult(shlo::ConvolutionOp convolution) {
  RankedTensorType lhs = convolution.getLhs().getType(), rhs = convolution.getRhs().getType();
  if (!lhs.hasStaticShape() || !rhs.hasStaticShape()) return std::nullopt;
  shlo::ConvDimensionNumbersAttr n = convolution.getDimensionNumbers();
  const size_t count = n.getInputSpatialDimensions().size();
  const Dims strides = numbersOr(convolution.getWindowStrides(), count, 1);
  const Dims lhsDilation = numbersOr(convolution.getLhsDilation(), count, 1);
  const Dims rhsDilation = numbersOr(convolution.getRhsDilation(), count, 1);
  Dims padding(2 * count, 0);
  if (std::optional<mlir::DenseIntElementsAttr> given = convolution.getPadding()) {
    padding.clear();
    for (const llvm::APInt& number : given->getValues<llvm::APInt>()) {
      padding.push_back(number.getSExtValue());
    }
  }
  Dims shape(lhs.getRank());
  shape[n.getOutputBatchDimension()] = lhs.getDimSize(n.getInputBatchDimension()) /
                                       static_cast<int64_t>(convolution.getBatchGroupCount());
  shape[n.getOutputFeatureDimension()] = rhs.getDimSize(n.getKernelOutputFeatureDimension());
  for (size_t i = 0; i < count; ++i) {
    auto extent = dilated(lhs.getDimSize(n.getInputSpatialDimensions()[i]), lhsDilation[i]);
    auto window = dilated(rhs.getDimSize(n.getKernelSpatialDimensions()[i]), rhsDilation[i]);
    int64_t padded;
    if (!extent || !window || llvm::AddOverflow(*extent, padding[2 * i], padded) ||
        llvm::AddOverflow(padded, padding[2 * i + 1], padded)) {
      return std::nullopt;
    }
    bool isEmpty = padded <= 0 || *window > padded;
    shape[n.getOutputSpatialDimensions()[i]] = isEmpty ? 0 : (padded - *window) / strides[i] + 1;
  }
  return shape;
}

}  // namespace isthmus
