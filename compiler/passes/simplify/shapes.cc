// Chains of shape operations become one; those that move nothing become reshapes or vanish.
//
// Canonical forms that later stages rely on: a broadcast_in_dim's operand has no dimension of
// size 1, and one that only adds such dimensions is a reshape.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/dialect/types/permutation.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/simplify/match.h"
#include "compiler/passes/simplify/patterns.h"
#include "compiler/passes/simplify/window.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using Dims = llvm::SmallVector<int64_t>;

bool hasStaticTypes(mlir::Operation* op) {
  auto isStatic = [](mlir::Type type) {
    auto ranked = llvm::dyn_cast<RankedTensorType>(type);
    return ranked && ranked.hasStaticShape() && !ranked.getEncoding();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

// A rule for one operation class, tried only where all types are static.
template <typename Op>
struct StaticPattern : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const final {
    return hasStaticTypes(op) ? rewrite(op, rewriter) : mlir::failure();
  }
  virtual LogicalResult rewrite(Op op, PatternRewriter& rewriter) const = 0;
};

struct SimplifyBroadcast : StaticPattern<shlo::BroadcastInDimOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::BroadcastInDimOp op, PatternRewriter& rewriter) const override {
    RankedTensorType operandType = op.getOperand().getType();
    RankedTensorType type = op.getType();
    llvm::ArrayRef<int64_t> dimensions = op.getBroadcastDimensions();
    if (operandType == type && isIdentity(dimensions)) {
      rewriter.replaceOp(op, op.getOperand());
      return mlir::success();
    }
    if (operandType.getNumElements() == type.getNumElements() && type.getNumElements() > 0 &&
        keepsOrder(operandType.getShape(), dimensions)) {
      rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(op, type, op.getOperand());
      return mlir::success();
    }
    if (auto inner = op.getOperand().getDefiningOp<shlo::BroadcastInDimOp>()) {
      Dims composed;
      for (int64_t d : inner.getBroadcastDimensions()) composed.push_back(dimensions[d]);
      rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, type, inner.getOperand(), composed);
      return mlir::success();
    }
    // A transpose that the dimensions take back.
    if (auto inner = op.getOperand().getDefiningOp<shlo::TransposeOp>()) {
      Dims composed(dimensions.size());
      for (auto [d, source] : llvm::zip(dimensions, inner.getPermutation())) composed[source] = d;
      if (keepsOrder(inner.getOperand().getType().getShape(), composed)) {
        rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, type, inner.getOperand(), composed);
        return mlir::success();
      }
    }
    if (operandType.getNumElements() == type.getNumElements() &&
        operandType.getRank() == type.getRank()) {
      rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, type, op.getOperand(),
                                                     inverseOf(dimensions));
      return mlir::success();
    }
    if (llvm::is_contained(operandType.getShape(), 1)) {
      Dims shape, kept;
      for (auto [extent, d] : llvm::zip(operandType.getShape(), dimensions)) {
        if (extent == 1) continue;
        shape.push_back(extent);
        kept.push_back(d);
      }
      auto squeezed = shlo::ReshapeOp::create(rewriter, op.getLoc(),
                                              RankedTensorType::get(shape, type.getElementType()),
                                              op.getOperand());
      rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, type, squeezed, kept);
      return mlir::success();
    }
    return mlir::failure();
  }

  static bool keepsOrder(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> dimensions) {
    int64_t last = -1;
    for (auto [extent, d] : llvm::zip(shape, dimensions)) {
      if (extent == 1) continue;
      if (d < last) return false;
      last = d;
    }
    return true;
  }
};

// A reshape that only adds or drops dimensions of size 1, of a transpose: it goes first, so that
// the transpose meets others, and the products that read their operands in any order.
LogicalResult reshapeBeforeTranspose(shlo::ReshapeOp op, shlo::TransposeOp transpose,
                                     PatternRewriter& rewriter) {
  if (!transpose->hasOneUse() || op.getType().getNumElements() == 0) return mlir::failure();
  // The operands of a product may yet change places, which contractions.cc sees without a reshape
  // between.
  auto dot = transpose.getOperand().getDefiningOp<shlo::DotGeneralOp>();
  if (dot && dot->hasOneUse() &&
      transpose.getPermutation().back() + 1 != transpose.getType().getRank()) {
    return mlir::failure();
  }
  auto isWide = [](int64_t size) { return size != 1; };
  llvm::ArrayRef<int64_t> before = transpose.getType().getShape(), after = op.getType().getShape();
  if (!llvm::equal(llvm::make_filter_range(before, isWide),
                   llvm::make_filter_range(after, isWide))) {
    return mlir::failure();
  }
  Dims sources;  // of the wide dimensions, in the order of both: those of the transpose's operand
  for (auto [d, size] : llvm::enumerate(before)) {
    if (isWide(size)) sources.push_back(transpose.getPermutation()[d]);
  }
  // Where each of the result's dimensions lies in the reshaped operand: the wide ones in the order
  // that they have in memory, each behind those of size 1 that it follows in the result.
  Dims shape, permutation(after.size());
  auto append = [&](size_t d) {
    permutation[d] = static_cast<int64_t>(shape.size());
    shape.push_back(after[d]);
  };
  llvm::SmallVector<std::pair<int64_t, size_t>> wide;  // its source, and where it is
  for (auto [d, size] : llvm::enumerate(after)) {
    if (isWide(size)) wide.emplace_back(sources[wide.size()], d);
  }
  llvm::sort(wide);
  for (auto [source, at] : wide) {
    size_t begin = at;
    while (begin > 0 && !isWide(after[begin - 1])) --begin;
    for (size_t d = begin; d <= at; ++d) append(d);
  }
  size_t rest = after.size();
  while (rest > 0 && !isWide(after[rest - 1])) --rest;
  for (size_t d = rest; d < after.size(); ++d) append(d);
  auto reshaped = shlo::ReshapeOp::create(rewriter, op.getLoc(), op.getType().clone(shape),
                                          transpose.getOperand());
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, op.getType(), reshaped, permutation);
  return mlir::success();
}

struct SimplifyReshape : StaticPattern<shlo::ReshapeOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::ReshapeOp op, PatternRewriter& rewriter) const override {
    if (op.getOperand().getType() == op.getType()) {
      rewriter.replaceOp(op, op.getOperand());
      return mlir::success();
    }
    mlir::Operation* producer = op.getOperand().getDefiningOp();
    if (auto inner = llvm::dyn_cast_or_null<shlo::ReshapeOp>(producer)) {
      rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(op, op.getType(), inner.getOperand());
      return mlir::success();
    }
    if (auto transpose = llvm::dyn_cast_or_null<shlo::TransposeOp>(producer)) {
      return reshapeBeforeTranspose(op, transpose, rewriter);
    }
    if (auto constant = llvm::dyn_cast_or_null<shlo::ConstantOp>(producer)) {
      auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
      if (!dense || (!dense.isSplat() && !constant->hasOneUse())) return mlir::failure();
      rewriter.replaceOpWithNewOp<shlo::ConstantOp>(op, dense.reshape(op.getType()));
      return mlir::success();
    }
    // The reshape of a splat is a splat.
    auto broadcast = llvm::dyn_cast_or_null<shlo::BroadcastInDimOp>(producer);
    if (broadcast && hasStaticTypes(broadcast) && broadcast.getOperand().getType().getRank() == 0) {
      rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, op.getType(), broadcast.getOperand(),
                                                          Dims{});
      return mlir::success();
    }
    return mlir::failure();
  }
};

struct SimplifyTranspose : StaticPattern<shlo::TransposeOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::TransposeOp op, PatternRewriter& rewriter) const override {
    llvm::ArrayRef<int64_t> permutation = op.getPermutation();
    if (isIdentity(permutation)) {
      rewriter.replaceOp(op, op.getOperand());
      return mlir::success();
    }
    if (auto inner = op.getOperand().getDefiningOp<shlo::TransposeOp>()) {
      Dims composed;
      for (int64_t d : permutation) composed.push_back(inner.getPermutation()[d]);
      rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, op.getType(), inner.getOperand(),
                                                     composed);
      return mlir::success();
    }
    if (keepsElements(op.getOperand().getType().getShape(), permutation) &&
        op.getType().getNumElements() > 0) {
      rewriter.replaceOpWithNewOp<shlo::ReshapeOp>(op, op.getType(), op.getOperand());
      return mlir::success();
    }
    if (auto broadcast = op.getOperand().getDefiningOp<shlo::BroadcastInDimOp>()) {
      Dims inverse = inverseOf(permutation);
      Dims composed;
      for (int64_t d : broadcast.getBroadcastDimensions()) composed.push_back(inverse[d]);
      rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, op.getType(), broadcast.getOperand(),
                                                          composed);
      return mlir::success();
    }
    if (mlir::DenseElementsAttr splat = constantSplat(op.getOperand())) {
      rewriter.replaceOpWithNewOp<shlo::ConstantOp>(op, splat.resizeSplat(op.getType()));
      return mlir::success();
    }
    return mlir::failure();
  }
};

struct SimplifySlice : StaticPattern<shlo::SliceOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::SliceOp op, PatternRewriter& rewriter) const override {
    if (op.getOperand().getType() == op.getType()) {
      rewriter.replaceOp(op, op.getOperand());
      return mlir::success();
    }
    if (mlir::DenseElementsAttr splat = constantSplat(op.getOperand())) {
      rewriter.replaceOpWithNewOp<shlo::ConstantOp>(op, splat.resizeSplat(op.getType()));
      return mlir::success();
    }
    if (auto inner = op.getOperand().getDefiningOp<shlo::SliceOp>()) {
      Dims starts, limits, strides;
      for (size_t d = 0; d < op.getStartIndices().size(); ++d) {
        int64_t stride = inner.getStrides()[d];
        starts.push_back(inner.getStartIndices()[d] + op.getStartIndices()[d] * stride);
        // The last element taken, plus one.
        int64_t extent = op.getType().getDimSize(d);
        strides.push_back(stride * op.getStrides()[d]);
        limits.push_back(extent == 0 ? starts.back()
                                     : starts.back() + (extent - 1) * strides.back() + 1);
      }
      rewriter.replaceOpWithNewOp<shlo::SliceOp>(op, op.getType(), inner.getOperand(), starts,
                                                 limits, strides);
      return mlir::success();
    }
    return mlir::failure();
  }
};

// A slice of one of the arrays that are joined is none of the others.
struct SliceOfConcatenate : StaticPattern<shlo::SliceOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::SliceOp op, PatternRewriter& rewriter) const override {
    auto joined = op.getOperand().getDefiningOp<shlo::ConcatenateOp>();
    if (!joined || op.getType().getNumElements() == 0) return mlir::failure();
    const std::optional<llvm::SmallVector<Part>> parts = partsOfJoined(joined, Window::of(op));
    if (!parts || parts->size() != 1) return mlir::failure();
    const auto& [part, window] = parts->front();
    rewriter.replaceOpWithNewOp<shlo::SliceOp>(op, op.getType(), part, window.starts, window.limits,
                                               window.strides);
    return mlir::success();
  }
};

struct SimplifyPad : StaticPattern<shlo::PadOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::PadOp op, PatternRewriter& rewriter) const override {
    auto isZero = [](int64_t padding) { return padding == 0; };
    if (op.getOperand().getType() == op.getType() && llvm::all_of(op.getEdgePaddingLow(), isZero) &&
        llvm::all_of(op.getInteriorPadding(), isZero)) {
      rewriter.replaceOp(op, op.getOperand());
      return mlir::success();
    }
    if (op.getOperand().getType().getNumElements() == 0) {
      rewriter.replaceOpWithNewOp<shlo::BroadcastInDimOp>(op, op.getType(), op.getPaddingValue(),
                                                          Dims{});
      return mlir::success();
    }
    return mlir::failure();
  }
};

// Whether `next` begins along `d` where `slice` of the same array ends, both without gaps.
bool isContinued(shlo::SliceOp slice, shlo::SliceOp next, uint64_t d) {
  if (!slice || !next || slice.getOperand() != next.getOperand() ||
      slice.getStrides() != next.getStrides() || slice.getStrides()[d] != 1) {
    return false;
  }
  for (size_t i = 0; i < slice.getStrides().size(); ++i) {
    if (i == d ? next.getStartIndices()[i] != slice.getLimitIndices()[i]
               : next.getStartIndices()[i] != slice.getStartIndices()[i] ||
                     next.getLimitIndices()[i] != slice.getLimitIndices()[i]) {
      return false;
    }
  }
  return true;
}

// Slices of an array that follow each other there are one, as of rows that are stacked again.
struct JoinSlices : StaticPattern<shlo::ConcatenateOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::ConcatenateOp op, PatternRewriter& rewriter) const override {
    const uint64_t d = op.getDimension();
    llvm::SmallVector<mlir::Value> parts;
    for (size_t begin = 0, end = 0; begin < op.getInputs().size(); begin = end) {
      auto sliceAt = [&](size_t i) { return op.getInputs()[i].getDefiningOp<shlo::SliceOp>(); };
      shlo::SliceOp first = sliceAt(begin);
      for (end = begin + 1; end < op.getInputs().size(); ++end) {
        if (!isContinued(sliceAt(end - 1), sliceAt(end), d)) break;
      }
      if (end == begin + 1) {
        parts.push_back(op.getInputs()[begin]);
        continue;
      }
      Dims limits(first.getLimitIndices()), shape(shapeOf(first.getResult()));
      limits[d] = sliceAt(end - 1).getLimitIndices()[d];
      shape[d] = limits[d] - first.getStartIndices()[d];
      parts.push_back(shlo::SliceOp::create(rewriter, first.getLoc(), op.getType().clone(shape),
                                            first.getOperand(), first.getStartIndices(), limits,
                                            first.getStrides()));
    }
    if (parts.size() == op.getInputs().size()) return mlir::failure();
    if (parts.size() == 1) {
      rewriter.replaceOp(op, parts[0]);
    } else {
      rewriter.replaceOpWithNewOp<shlo::ConcatenateOp>(op, op.getType(), parts, d);
    }
    return mlir::success();
  }
};

struct SimplifyConcatenate : StaticPattern<shlo::ConcatenateOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::ConcatenateOp op, PatternRewriter& rewriter) const override {
    llvm::SmallVector<mlir::Value> parts;
    bool changed = false;
    for (mlir::Value part : op.getInputs()) {
      if (elementCount(part.getType()) == 0 && op.getInputs().size() > 1) {
        changed = true;
        continue;
      }
      auto inner = part.getDefiningOp<shlo::ConcatenateOp>();
      if (inner && inner.getDimension() == op.getDimension() && inner->hasOneUse()) {
        llvm::append_range(parts, inner.getInputs());
        changed = true;
        continue;
      }
      parts.push_back(part);
    }
    if (parts.size() == 1 && parts[0].getType() == op.getType()) {
      rewriter.replaceOp(op, parts[0]);
      return mlir::success();
    }
    if (!changed || parts.empty()) return mlir::failure();
    rewriter.replaceOpWithNewOp<shlo::ConcatenateOp>(op, op.getType(), parts, op.getDimension());
    return mlir::success();
  }
};

// Over dimensions of size 1: each result combines one element with the initial value.
struct SimplifyReduce : StaticPattern<shlo::ReduceOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::ReduceOp op, PatternRewriter& rewriter) const override {
    mlir::Operation* combiner = soleOperation(op.getBody());
    if (op.getInputs().size() != 1 || !combiner) return mlir::failure();
    auto from = llvm::cast<mlir::RankedTensorType>(op.getInputs()[0].getType());
    auto to = llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
    if (mlir::getElementTypeOrSelf(combiner->getResult(0).getType()) != to.getElementType() ||
        from.getElementType() != to.getElementType() || from.getNumElements() == 0 ||
        from.getNumElements() != to.getNumElements()) {
      return mlir::failure();
    }
    mlir::IRMapping arguments;
    mlir::Block& body = op.getBody().front();
    arguments.map(body.getArgument(0), shlo::BroadcastInDimOp::create(rewriter, op.getLoc(), to,
                                                                      op.getInitValues()[0], Dims{})
                                           .getResult());
    arguments.map(
        body.getArgument(1),
        shlo::ReshapeOp::create(rewriter, op.getLoc(), to, op.getInputs()[0]).getResult());
    mlir::Operation* combined = rewriter.clone(*combiner, arguments);
    combined->getResult(0).setType(to);
    combined->setLoc(op.getLoc());
    rewriter.replaceOp(op, combined);
    return mlir::success();
  }
};

struct SimplifyReverse : StaticPattern<shlo::ReverseOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::ReverseOp op, PatternRewriter& rewriter) const override {
    bool moves =
        llvm::any_of(op.getDimensions(), [&](int64_t d) { return op.getType().getDimSize(d) > 1; });
    auto iota = op.getOperand().getDefiningOp<shlo::IotaOp>();
    auto dim = iota ? static_cast<int64_t>(iota.getIotaDimension()) : -1;
    if (moves && iota && llvm::is_contained(op.getDimensions(), dim))
      return countDown(op, rewriter);
    if (moves && !iota) return mlir::failure();
    rewriter.replaceOp(op, op.getOperand());
    return mlir::success();
  }

  // An index is computed where it is needed, the reverse of an array is read out of memory.
  static LogicalResult countDown(shlo::ReverseOp op, PatternRewriter& rewriter) {
    RankedTensorType type = op.getType();
    auto iota = op.getOperand().getDefiningOp<shlo::IotaOp>();
    int64_t last = type.getDimSize(static_cast<int64_t>(iota.getIotaDimension())) - 1;
    if (!countsExactly(type.getElementType(), last)) return mlir::failure();
    ArrayBuilder b(op, rewriter);
    rewriter.replaceOp(op, b.sub(b.splat(static_cast<double>(last), type), op.getOperand()));
    return mlir::success();
  }

  // Whether the type has every whole number from 0 to `last`.
  static bool countsExactly(mlir::Type type, int64_t last) {
    if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type)) {
      unsigned bits = integer.getWidth() - (integer.isUnsigned() ? 0 : 1);
      // More than 2^52 are no exact splat of a double, nor an array that anybody has.
      return integer.getWidth() >= 8 && last < int64_t{1} << std::min(bits, 52U);
    }
    auto real = llvm::dyn_cast<mlir::FloatType>(type);
    return real && real.getWidth() >= 16 && last < int64_t{1} << real.getFPMantissaWidth();
  }
};

// The same bits in the same type; a kernel might give NaN another payload.
struct SimplifyBitcast : StaticPattern<shlo::BitcastConvertOp> {
  using StaticPattern::StaticPattern;

  LogicalResult rewrite(shlo::BitcastConvertOp op, PatternRewriter& rewriter) const override {
    if (auto inner = op.getOperand().getDefiningOp<shlo::BitcastConvertOp>()) {
      if (inner.getOperand().getType() == op.getType()) {
        rewriter.replaceOp(op, inner.getOperand());
        return mlir::success();
      }
    }
    if (op.getOperand().getType() != op.getType()) return mlir::failure();
    rewriter.replaceOp(op, op.getOperand());
    return mlir::success();
  }
};

}  // namespace

void addSlicePatterns(mlir::RewritePatternSet& patterns) {
  patterns.add<SimplifySlice, SliceOfConcatenate>(patterns.getContext());
}

void addShapePatterns(mlir::RewritePatternSet& patterns) {
  addSlicePatterns(patterns);
  patterns.add<SimplifyBroadcast, SimplifyReshape, SimplifyTranspose, SimplifyPad,
               SimplifyConcatenate, JoinSlices, SimplifyReduce, SimplifyReverse, SimplifyBitcast>(
      patterns.getContext());
}

}  // namespace isthmus
