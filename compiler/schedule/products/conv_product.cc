#include "compiler/schedule/products/conv_product.h"

#include "base/program/dot_roles.h"
#include "compiler/dialect/types/array_shape.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 30;

// All of them, which step through two arrays, as one dimension.
std::optional<DotDimension> merged(DotDimensions dims) {
  llvm::sort(
      dims, [](const DotDimension& a, const DotDimension& b) { return a.lhsStride > b.lhsStride; });
  DotDimensions all;
  for (const DotDimension& dim : dims) appendDimension(all, dim);
  if (all.empty()) return DotDimension{1, 0, 0};
  if (all.size() > 1 || all[0].size > kMaxSize) return std::nullopt;
  return all[0];
}

bool areAll(std::optional<llvm::ArrayRef<int64_t>> values, int64_t expected) {
  return !values || llvm::all_of(*values, [&](int64_t value) { return value == expected; });
}

}  // namespace

std::optional<MatrixProduct> convProductOf(shlo::ConvolutionOp op) {
  if (op.getFeatureGroupCount() != 1 || op.getBatchGroupCount() != 1) return std::nullopt;
  if (!areAll(op.getWindowStrides(), 1) || !areAll(op.getLhsDilation(), 1) ||
      !areAll(op.getRhsDilation(), 1)) {
    return std::nullopt;
  }
  if (op.getPadding() && llvm::any_of(op.getPadding()->getValues<int64_t>(),
                                      [](int64_t padding) { return padding != 0; })) {
    return std::nullopt;
  }
  auto types = {op.getLhs().getType(), op.getRhs().getType(), op.getResult().getType()};
  for (mlir::Type type : types) {
    auto ranked = llvm::dyn_cast<mlir::RankedTensorType>(type);
    if (!ranked || !ranked.hasStaticShape() || ranked.getNumElements() == 0) return std::nullopt;
  }
  auto lhs = llvm::cast<mlir::RankedTensorType>(op.getLhs().getType());
  auto rhs = llvm::cast<mlir::RankedTensorType>(op.getRhs().getType());
  auto result = llvm::cast<mlir::RankedTensorType>(op.getResult().getType());
  auto l = stridesOf(lhs.getShape()), r = stridesOf(rhs.getShape());
  auto out = stridesOf(result.getShape());
  shlo::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  int64_t batch = n.getInputBatchDimension(), feature = n.getInputFeatureDimension();
  int64_t outFeature = n.getKernelOutputFeatureDimension();
  // Of lhs and result; of lhs and rhs; of rhs and result.
  DotDimensions rows = {{lhs.getDimSize(batch), l[batch], out[n.getOutputBatchDimension()]}};
  DotDimensions sums = {
      {lhs.getDimSize(feature), l[feature], r[n.getKernelInputFeatureDimension()]}};
  DotDimensions columns = {
      {rhs.getDimSize(outFeature), r[outFeature], out[n.getOutputFeatureDimension()]}};
  for (size_t i = 0; i < n.getInputSpatialDimensions().size(); ++i) {
    int64_t from = n.getInputSpatialDimensions()[i], kernel = n.getKernelSpatialDimensions()[i];
    int64_t size = lhs.getDimSize(from), window = rhs.getDimSize(kernel);
    if (window == 1) {
      rows.push_back({size, l[from], out[n.getOutputSpatialDimensions()[i]]});
      continue;
    }
    bool isReversed = op.getWindowReversal() && (*op.getWindowReversal())[i];
    if (window != size || isReversed) return std::nullopt;
    sums.push_back({size, l[from], r[kernel]});
  }
  std::optional<DotDimension> row = merged(rows), sum = merged(sums), column = merged(columns);
  if (!row || !sum || !column) return std::nullopt;
  // The result is dense: its rows follow each other.
  if (column->size > 1 && column->rhsStride != 1) return std::nullopt;
  if (row->size > 1 && row->rhsStride != column->size) return std::nullopt;
  std::optional<MatrixOperand> left = matrixOperandOf(row->lhsStride, sum->lhsStride, 0);
  std::optional<MatrixOperand> right = matrixOperandOf(column->lhsStride, sum->rhsStride, 0);
  if (!left || !right) return std::nullopt;
  return MatrixProduct{1, row->size, column->size, sum->size, *left, *right};
}

}  // namespace isthmus
