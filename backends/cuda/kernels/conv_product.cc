#include "backends/cuda/kernels/conv_product.h"

#include <algorithm>

#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::cuda {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 30;

// A dimension, with how far its elements are apart in two arrays.
struct Dimension {
  int64_t size = 1, first = 0, second = 0;
};

llvm::SmallVector<int64_t> stridesOf(mlir::RankedTensorType type) {
  llvm::SmallVector<int64_t> strides(static_cast<size_t>(type.getRank()), 1);
  for (int64_t i = type.getRank() - 2; i >= 0; --i) {
    strides[i] = strides[i + 1] * type.getDimSize(i + 1);
  }
  return strides;
}

// All of them as one dimension.
std::optional<Dimension> merged(llvm::SmallVector<Dimension> dims) {
  llvm::erase_if(dims, [](const Dimension& dim) { return dim.size == 1; });
  if (dims.empty()) return Dimension();
  llvm::sort(dims, [](const Dimension& a, const Dimension& b) { return a.first > b.first; });
  Dimension all = dims.back();
  for (size_t i = dims.size() - 1; i-- > 0;) {
    if (dims[i].first != all.first * all.size || dims[i].second != all.second * all.size ||
        dims[i].size > kMaxSize / all.size) {
      return std::nullopt;
    }
    all.size *= dims[i].size;
  }
  return all;
}

bool areAll(std::optional<llvm::ArrayRef<int64_t>> values, int64_t expected) {
  return !values || llvm::all_of(*values, [&](int64_t value) { return value == expected; });
}

std::optional<MatrixOperand> operandOf(int64_t lineStride, int64_t sumStride) {
  if (sumStride == 1) return MatrixOperand{true, lineStride, 0};
  if (lineStride == 1) return MatrixOperand{false, sumStride, 0};
  return std::nullopt;
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
  llvm::SmallVector<int64_t> l = stridesOf(lhs), r = stridesOf(rhs), out = stridesOf(result);
  shlo::ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  int64_t batch = n.getInputBatchDimension(), feature = n.getInputFeatureDimension();
  int64_t outFeature = n.getKernelOutputFeatureDimension();
  // By lhs and result; by lhs and rhs; by rhs and result.
  llvm::SmallVector<Dimension> rows = {
      {lhs.getDimSize(batch), l[batch], out[n.getOutputBatchDimension()]}};
  llvm::SmallVector<Dimension> sums = {
      {lhs.getDimSize(feature), l[feature], r[n.getKernelInputFeatureDimension()]}};
  llvm::SmallVector<Dimension> columns = {
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
  std::optional<Dimension> row = merged(rows), sum = merged(sums), column = merged(columns);
  if (!row || !sum || !column) return std::nullopt;
  // The result is dense: its rows follow each other.
  if (column->size > 1 && column->second != 1) return std::nullopt;
  if (row->size > 1 && row->second != column->size) return std::nullopt;
  std::optional<MatrixOperand> left = operandOf(row->first, sum->first);
  std::optional<MatrixOperand> right = operandOf(column->first, sum->second);
  if (!left || !right) return std::nullopt;
  return MatrixProduct{1, row->size, column->size, sum->size, *left, *right};
}

}  // namespace isthmus::cuda
