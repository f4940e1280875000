// Rules and types of contractions and convolutions.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

// The labels of the rules that contractions and convolutions share about quantized operands.
struct QuantRules {
  llvm::StringRef which, storage, expressed, granularity, weightOnly;
};

LogicalResult verifyQuantized(const Rules& rules, const QuantRules& r, mlir::Type lhs,
                              mlir::Type rhs, mlir::Type result) {
  if (!isQuantized(rhs) || isQuantized(lhs) != isQuantized(result)) {
    return rules.violates(r.which, "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected rhs quantized, and lhs if the result is");
  }
  auto q = llvm::cast<mlir::quant::QuantizedType>(rhs);
  if (!isQuantized(lhs)) {
    if (lhs == q.getExpressedType() && lhs == result) return success();
    return rules.violates(r.weightOnly, "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected lhs and the result to be what rhs expresses");
  }
  auto l = llvm::cast<mlir::quant::QuantizedType>(lhs);
  auto out = llvm::cast<mlir::quant::QuantizedType>(result);
  if (l.getStorageType() != q.getStorageType()) {
    return rules.violates(r.storage, "element types are ", lhs, " and ", rhs,
                          ", expected the same storage type");
  }
  if (l.getExpressedType() != q.getExpressedType() ||
      l.getExpressedType() != out.getExpressedType()) {
    return rules.violates(r.expressed, "element types are ", lhs, ", ", rhs, " and ", result,
                          ", expected the same expressed type");
  }
  if (!isPerAxisQuantized(rhs) && isPerAxisQuantized(result)) {
    return rules.violates(r.granularity, "the result is ", result, " and rhs ", rhs,
                          ", expected the result quantized per axis only if rhs is");
  }
  return success();
}

bool anyQuantized(mlir::Type a, mlir::Type b, mlir::Type c) {
  return isQuantized(a) || isQuantized(b) || isQuantized(c);
}

LogicalResult verifyPrecision(const Rules& rules, llvm::StringRef rule,
                              std::optional<mlir::ArrayAttr> precision) {
  if (!precision || precision->size() <= 2) return success();
  return rules.violates(rule, "precision_config has ", precision->size(),
                        " elements, expected 2 at most");
}

}  // namespace

// ---- Contractions -------------------------------------------------------------------------------

LogicalResult DotGeneralOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getType();
  DotDimensionNumbersAttr n = getDotDimensionNumbers();
  Dims lhsBatch = n.getLhsBatchingDimensions(), rhsBatch = n.getRhsBatchingDimensions();
  Dims lhsSummed = n.getLhsContractingDimensions(), rhsSummed = n.getRhsContractingDimensions();
  llvm::SmallVector<int64_t> lhsUsed(lhsBatch), rhsUsed(rhsBatch);
  llvm::append_range(lhsUsed, lhsSummed);
  llvm::append_range(rhsUsed, rhsSummed);
  if (failed(rules.size("c1", "rhs_batching_dimensions", rhsBatch.size(), lhsBatch.size())) ||
      failed(rules.size("c2", "rhs_contracting_dimensions", rhsSummed.size(), lhsSummed.size())) ||
      failed(rules.unique("c3", "dimensions of lhs", lhsUsed)) ||
      failed(rules.unique("c4", "dimensions of rhs", rhsUsed)) ||
      failed(rules.allInRange("c5", "lhs_batching_dimensions", lhsBatch, 0, lhs.getRank())) ||
      failed(rules.allInRange("c6", "lhs_contracting_dimensions", lhsSummed, 0, lhs.getRank())) ||
      failed(rules.allInRange("c7", "rhs_batching_dimensions", rhsBatch, 0, rhs.getRank())) ||
      failed(rules.allInRange("c8", "rhs_contracting_dimensions", rhsSummed, 0, rhs.getRank())) ||
      failed(verifyPrecision(rules, "c11", getPrecisionConfig()))) {
    return failure();
  }
  auto sameSizes = [&](llvm::StringRef rule, Dims a, Dims b) -> LogicalResult {
    for (auto [l, r] : llvm::zip(a, b)) {
      if (!agree(lhs.getDimSize(l), rhs.getDimSize(r))) {
        return rules.violates(rule, "dimension ", l, " of ", lhs, " and dimension ", r, " of ", rhs,
                              ", expected the same size");
      }
    }
    return success();
  };
  if (failed(sameSizes("c9", lhsBatch, rhsBatch)) ||
      failed(sameSizes("c10", lhsSummed, rhsSummed))) {
    return failure();
  }
  llvm::SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch) shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim = 0; dim < lhs.getRank(); ++dim) {
    if (!llvm::is_contained(lhsUsed, dim)) shape.push_back(lhs.getDimSize(dim));
  }
  for (int64_t dim = 0; dim < rhs.getRank(); ++dim) {
    if (!llvm::is_contained(rhsUsed, dim)) shape.push_back(rhs.getDimSize(dim));
  }
  if (!agree(shape, result.getShape())) {
    return rules.violates("c12", "the result is ", result, ", expected the shape ", text(shape));
  }
  if (getAlgorithm() && getPrecisionConfig() &&
      llvm::any_of(*getPrecisionConfig(), [](mlir::Attribute value) {
        return llvm::cast<PrecisionAttr>(value).getValue() != Precision::DEFAULT;
      })) {
    return rules.violates("c21", "an algorithm is given and the precision is ",
                          mlir::Attribute(*getPrecisionConfig()), ", expected DEFAULT");
  }
  mlir::Type l = lhs.getElementType(), r = rhs.getElementType(), out = result.getElementType();
  if (!anyQuantized(l, r, out)) return success();
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedType>(r); q && q.getZeroPoint() != 0) {
    return rules.violates("c15", "the zero point of rhs is ", q.getZeroPoint(), ", expected 0");
  }
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(r)) {
    if (llvm::any_of(q.getZeroPoints(), [](int64_t zero) { return zero != 0; })) {
      return rules.violates("c15", "the zero points of rhs are ", text(q.getZeroPoints()),
                            ", expected 0");
    }
    if (llvm::is_contained(rhsSummed, q.getQuantizedDimension())) {
      return rules.violates("c16", "rhs is quantized along dimension ", q.getQuantizedDimension(),
                            ", expected one that is not contracting");
    }
  }
  return verifyQuantized(rules, {"c14", "c17", "c18", "c19", "c20"}, l, r, out);
}

LogicalResult DotOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (failed(verifyPrecision(rules, "c4", getPrecisionConfig()))) return failure();
  if (lhs.getRank() < 1 || lhs.getRank() > 2 || rhs.getRank() < 1 || rhs.getRank() > 2) {
    return rules.violates("c1", "operands are ", lhs, " and ", rhs, ", expected rank 1 or 2");
  }
  if (!agree(lhs.getShape().back(), rhs.getDimSize(0))) {
    return rules.violates("c2", "the last dimension of ", lhs, " and the first of ", rhs,
                          ", expected the same size");
  }
  llvm::SmallVector<int64_t> shape(lhs.getShape().drop_back());
  llvm::append_range(shape, rhs.getShape().drop_front());
  if (agree(shape, getType().getShape())) return success();
  return rules.violates("c3", "the result is ", getType(), ", expected the shape ", text(shape));
}

// ---- Convolutions -------------------------------------------------------------------------------

namespace {

constexpr WindowRules kConvWindow = {"c12", "c25", "c2", "c3", "c5", "c6", "c7", "c8", "c4", "c25"};

LogicalResult verifyPlaces(const Rules& rules, llvm::StringRef sizeRule, llvm::StringRef rule,
                           llvm::StringRef name, int64_t a, int64_t b, Dims spatial, int64_t rank) {
  llvm::SmallVector<int64_t> all(spatial);
  all.append({a, b});
  if (failed(rules.size(sizeRule, name, spatial.size(), rank - 2)) ||
      failed(rules.unique(rule, name, all))) {
    return failure();
  }
  return rules.allInRange(rule, name, all, 0, rank);
}

// The rules that convolution and dynamic_conv share. The windows' padding may be unknown.
template <typename Op>
LogicalResult verifyConvolution(Op op, const Rules& rules,
                                std::optional<mlir::DenseIntElementsAttr> padding,
                                bool isPaddingKnown) {
  auto lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs());
  auto result = tensorType(op.getResult());
  ConvDimensionNumbersAttr n = op.getDimensionNumbers();
  int64_t rank = lhs.getRank();
  int64_t groups = op.getFeatureGroupCount(), batchGroups = op.getBatchGroupCount();
  if (rank < 2 || rhs.getRank() != rank) {
    return rules.violates("c1", "operands are ", lhs, " and ", rhs,
                          ", expected the same rank of 2 or more");
  }
  if (failed(verifyPlaces(rules, "c12", "c13", "input dimensions", n.getInputBatchDimension(),
                          n.getInputFeatureDimension(), n.getInputSpatialDimensions(), rank)) ||
      failed(verifyPlaces(rules, "c17", "c18", "kernel dimensions",
                          n.getKernelInputFeatureDimension(), n.getKernelOutputFeatureDimension(),
                          n.getKernelSpatialDimensions(), rank)) ||
      failed(verifyPlaces(rules, "c19", "c20", "output dimensions", n.getOutputBatchDimension(),
                          n.getOutputFeatureDimension(), n.getOutputSpatialDimensions(), rank)) ||
      failed(verifyPrecision(rules, "c24", op.getPrecisionConfig()))) {
    return failure();
  }
  if (groups > 1 && batchGroups > 1) {
    return rules.violates("c23", "feature_group_count is ", groups, " and batch_group_count ",
                          batchGroups, ", expected one of them to be 1");
  }
  int64_t batch = lhs.getDimSize(n.getInputBatchDimension());
  int64_t features = lhs.getDimSize(n.getInputFeatureDimension());
  int64_t kernelIn = rhs.getDimSize(n.getKernelInputFeatureDimension());
  int64_t kernelOut = rhs.getDimSize(n.getKernelOutputFeatureDimension());
  auto divides = [&](llvm::StringRef rule, llvm::StringRef name, int64_t size, int64_t count) {
    if (isDynamic(size) || size % count == 0) return LogicalResult(success());
    return rules.violates(rule, name, " is ", size, ", expected a multiple of ", count);
  };
  if (failed(divides("c10", "the input batch", batch, batchGroups)) ||
      failed(divides("c11", "the number of input features", features, groups)) ||
      failed(divides("c15", "the number of output features", kernelOut, batchGroups)) ||
      failed(divides("c16", "the number of output features", kernelOut, groups))) {
    return failure();
  }
  if (!isDynamic(features) && !agree(kernelIn, features / groups)) {
    return rules.violates("c14", "the kernel has ", kernelIn, " input features, expected ",
                          features / groups);
  }
  if (std::optional<llvm::ArrayRef<bool>> reversal = op.getWindowReversal();
      reversal && !reversal->empty() &&
      failed(rules.size("c9", "window_reversal", reversal->size(), rank - 2))) {
    return failure();
  }
  llvm::SmallVector<int64_t> sizes;
  for (int64_t dim : n.getKernelSpatialDimensions()) sizes.push_back(rhs.getDimSize(dim));
  auto windows =
      makeWindows(rules, kConvWindow, sizes, op.getWindowStrides().value_or(Dims()), padding,
                  op.getLhsDilation().value_or(Dims()), op.getRhsDilation().value_or(Dims()));
  if (failed(windows)) return failure();
  llvm::SmallVector<int64_t> shape(rank, mlir::ShapedType::kDynamic);
  shape[n.getOutputBatchDimension()] = isDynamic(batch) ? batch : batch / batchGroups;
  shape[n.getOutputFeatureDimension()] = kernelOut;
  for (auto [i, dim] : llvm::enumerate(n.getOutputSpatialDimensions())) {
    if (!isPaddingKnown) break;
    auto count =
        numWindows(rules, "c25", lhs.getDimSize(n.getInputSpatialDimensions()[i]), (*windows)[i]);
    if (failed(count)) return failure();
    shape[dim] = *count;
  }
  if (result.getRank() != rank) {
    return rules.violates("c26", "the result is ", result, ", expected rank ", rank);
  }
  if (!agree(shape, result.getShape())) {
    return rules.violates("c25", "the result is ", result, ", expected the shape ", text(shape));
  }
  mlir::Type l = lhs.getElementType(), r = rhs.getElementType(), out = result.getElementType();
  if (!anyQuantized(l, r, out)) {
    // The result may be of another type than the operands: JAX accumulates bf16 in f32.
    if (l == r) return success();
    return rules.violates("c27", "element types of the operands are ", l, " and ", r,
                          ", expected the same");
  }
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(r);
      q && q.getQuantizedDimension() != n.getKernelOutputFeatureDimension()) {
    return rules.violates("c29", "rhs is quantized along dimension ", q.getQuantizedDimension(),
                          ", expected ", n.getKernelOutputFeatureDimension());
  }
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(out);
      q && q.getQuantizedDimension() != n.getOutputFeatureDimension()) {
    return rules.violates("c30", "the result is quantized along dimension ",
                          q.getQuantizedDimension(), ", expected ", n.getOutputFeatureDimension());
  }
  return verifyQuantized(rules, {"c28", "c31", "c32", "c33", "c34"}, l, r, out);
}

}  // namespace

LogicalResult ConvolutionOp::verify() {
  return verifyConvolution(*this, Rules(*this), getPadding(), /*isPaddingKnown=*/true);
}

LogicalResult DynamicConvOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType padding = getPadding().getType();
  if (padding.getDimSize(0) != getLhs().getType().getRank() - 2 || padding.getDimSize(1) != 2) {
    return rules.violates("c4", "padding is ", padding, ", expected two numbers for each of ",
                          getLhs().getType().getRank() - 2, " spatial dimensions");
  }
  return verifyConvolution(*this, rules, std::nullopt, /*isPaddingKnown=*/false);
}

}  // namespace isthmus::shlo
