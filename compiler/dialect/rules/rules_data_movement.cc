// Rules and types of the operations that place elements elsewhere.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

// ---- The same elements --------------------------------------------------------------------------

LogicalResult verifyReshape(const Rules& rules, mlir::RankedTensorType from,
                            mlir::RankedTensorType to) {
  if (failed(verifySameScales(rules, "c1", from, to))) return failure();
  std::optional<int64_t> before = product(from.getShape()), after = product(to.getShape());
  if (!before || !after) {
    return rules.violates("c2", "the number of elements of ", from, " or ", to,
                          " overflows, expected it to fit 63 bits");
  }
  if (!agree(*before, *after)) {
    return rules.violates("c2", "the operand ", from, " has ", *before, " elements and the result ",
                          to, " ", *after, ", expected as many");
  }
  auto a = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(from.getElementType());
  auto b = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(to.getElementType());
  if (!a || !b) return success();
  // The elements of one scale must be the same ones before and after.
  int64_t da = a.getQuantizedDimension(), db = b.getQuantizedDimension();
  auto agreeIn = [](Dims x, Dims y) {
    std::optional<int64_t> p = product(x), q = product(y);
    return p && q && agree(*p, *q);
  };
  if (!agree(from.getDimSize(da), to.getDimSize(db)) ||
      !agreeIn(from.getShape().take_front(da), to.getShape().take_front(db)) ||
      !agreeIn(from.getShape().drop_front(da + 1), to.getShape().drop_front(db + 1))) {
    return rules.violates("c3", "the reshape from ", from, " to ", to,
                          " moves elements between scales, expected none to");
  }
  return success();
}

LogicalResult ReshapeOp::verify() {
  return verifyReshape(Rules(*this), getOperand().getType(), getType());
}

LogicalResult BitcastConvertOp::verify() {
  mlir::RankedTensorType from = getOperand().getType(), to = getType();
  mlir::Type a = from.getElementType(), b = to.getElementType();
  Rules rules(*this);
  if (llvm::isa<mlir::ComplexType>(a) != llvm::isa<mlir::ComplexType>(b)) {
    return rules.violates("c2", "element types are ", a, " and ", b,
                          ", expected both complex or neither");
  }
  auto bits = [](mlir::Type type) -> int64_t {
    if (auto q = llvm::dyn_cast<mlir::quant::QuantizedType>(type)) {
      return q.getStorageTypeIntegralWidth();
    }
    if (auto c = llvm::dyn_cast<mlir::ComplexType>(type)) {
      return 2 * c.getElementType().getIntOrFloatBitWidth();
    }
    return type.getIntOrFloatBitWidth();
  };
  // Swap so that `from` has the wider elements; then `to` has one more dimension.
  Dims wide = from.getShape(), narrow = to.getShape();
  int64_t wideBits = bits(a), narrowBits = bits(b);
  if (wideBits < narrowBits) {
    std::swap(wide, narrow);
    std::swap(wideBits, narrowBits);
  }
  bool fits = wideBits == narrowBits
                  ? agree(wide, narrow)
                  : narrow.size() == wide.size() + 1 && agree(wide, narrow.drop_back()) &&
                        wideBits % narrowBits == 0 && agree(narrow.back(), wideBits / narrowBits);
  if (fits) return success();
  return rules.violates("c1", "types are ", from, " and ", to, " with elements of ", bits(a),
                        " and ", bits(b),
                        " bits, expected shapes that agree, up to a last dimension of the ratio");
}

namespace {

LogicalResult verifyPermutation(const Rules& rules, Dims permutation,
                                mlir::RankedTensorType operand) {
  llvm::SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (llvm::equal(sorted, llvm::seq<int64_t>(0, operand.getRank()))) return success();
  return rules.violates("c2", "permutation is ", text(permutation), ", expected each dimension of ",
                        operand, " once");
}

}  // namespace

LogicalResult TransposeOp::verify() {
  Rules rules(*this);
  if (failed(verifyPermutation(rules, getPermutation(), getOperand().getType())) ||
      failed(verifySameScales(rules, "c1", getOperand().getType(), getType()))) {
    return failure();
  }
  auto from = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(
      getOperand().getType().getElementType());
  auto to = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(getType().getElementType());
  if (!from || !to) return success();
  int64_t expected =
      llvm::find(getPermutation(), from.getQuantizedDimension()) - getPermutation().begin();
  if (to.getQuantizedDimension() == expected) return success();
  return rules.violates("c4", "the quantization dimension goes from ", from.getQuantizedDimension(),
                        " to ", to.getQuantizedDimension(), ", expected ", expected);
}

ISTHMUS_INFER(TransposeOp, "transpose") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims permutation = op.getPermutation(), bounds = boundsOf(operand);
  if (failed(verifyPermutation(rules, permutation, operand))) return failure();
  llvm::SmallVector<int64_t> sizes, newBounds;
  for (int64_t dim : permutation) {
    sizes.push_back(operand.getDimSize(dim));
    if (!bounds.empty()) newBounds.push_back(bounds[dim]);
  }
  mlir::Type element = operand.getElementType();
  if (auto q = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(element)) {
    element = mlir::quant::UniformQuantizedPerAxisType::get(
        q.getFlags(), q.getStorageType(), q.getExpressedType(), q.getScales(), q.getZeroPoints(),
        llvm::find(permutation, q.getQuantizedDimension()) - permutation.begin(),
        q.getStorageTypeMin(), q.getStorageTypeMax());
  }
  types.push_back(boundedType(sizes, element, newBounds));
  return success();
}

ISTHMUS_INFER(ReverseOp, "reverse") {
  types.push_back(op.getOperand().getType());
  return success();
}

LogicalResult ReverseOp::verify() {
  Rules rules(*this);
  if (failed(rules.unique("c2", "dimensions", getDimensions()))) return failure();
  return rules.allInRange("c3", "dimensions", getDimensions(), 0, getOperand().getType().getRank());
}

// ---- Copies -------------------------------------------------------------------------------------

ISTHMUS_INFER(BroadcastOp, "broadcast") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims sizes = op.getBroadcastSizes(), bounds = boundsOf(operand);
  for (int64_t size : sizes) {
    if (size < 0) {
      return rules.violates("c1", "broadcast_sizes are ", text(sizes),
                            ", expected no negative number");
    }
  }
  llvm::SmallVector<int64_t> shape(sizes), newBounds;
  llvm::append_range(shape, operand.getShape());
  if (!bounds.empty()) {
    newBounds.assign(sizes.size(), mlir::ShapedType::kDynamic);
    llvm::append_range(newBounds, bounds);
  }
  types.push_back(boundedType(shape, operand.getElementType(), newBounds));
  return success();
}

LogicalResult verifyBroadcastScales(const Rules& rules, mlir::RankedTensorType operand,
                                    mlir::RankedTensorType result, Dims dims) {
  auto a = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(operand.getElementType());
  auto b = llvm::dyn_cast<mlir::quant::UniformQuantizedPerAxisType>(result.getElementType());
  if (!a || !b) return success();
  int64_t from = a.getQuantizedDimension(), to = b.getQuantizedDimension();
  if (to != dims[from]) {
    return rules.violates("c6", "the quantization dimension goes from ", from, " to ", to,
                          ", expected ", dims[from]);
  }
  if (operand.getDimSize(from) != 1) return success();
  // One scale is copied with its elements.
  if (llvm::all_of(b.getScales(), [&](double scale) { return scale == a.getScales()[0]; }) &&
      llvm::all_of(b.getZeroPoints(), [&](int64_t zero) { return zero == a.getZeroPoints()[0]; })) {
    return success();
  }
  return rules.violates("c6", "element types are ", a, " and ", b,
                        ", expected all scales and zero points to be the operand's");
}

LogicalResult BroadcastInDimOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType operand = getOperand().getType(), result = getType();
  Dims dims = getBroadcastDimensions();
  if (failed(rules.size("c2", "broadcast_dimensions", dims.size(), operand.getRank())) ||
      failed(rules.allInRange("c3", "broadcast_dimensions", dims, 0, result.getRank())) ||
      failed(rules.unique("c4", "broadcast_dimensions", dims)) ||
      failed(verifySameScales(rules, "c1", operand, result, /*perAxisMayDiffer=*/true))) {
    return failure();
  }
  for (auto [from, to] : llvm::enumerate(dims)) {
    int64_t size = operand.getDimSize(from);
    if (size != 1 && !agree(size, result.getDimSize(to))) {
      return rules.violates("c5", "dimension ", from, " of ", operand, " goes to dimension ", to,
                            " of ", result, ", expected size 1 or the same size");
    }
  }
  return verifyBroadcastScales(rules, operand, result, dims);
}

ISTHMUS_INFER(ConcatenateOp, "concatenate") {
  if (op.getInputs().empty()) {
    return rules.violates("c3", "there are no inputs, expected one or more");
  }
  mlir::RankedTensorType first = tensorType(op.getInputs().front());
  int64_t dimension = op.getDimension();
  if (failed(rules.inRange("c4", "dimension", dimension, 0, first.getRank()))) return failure();
  llvm::SmallVector<int64_t> sizes(first.getShape());
  llvm::SmallVector<int64_t> bounds(first.getRank(), mlir::ShapedType::kDynamic);
  if (!boundsOf(first).empty()) bounds.assign(boundsOf(first).begin(), boundsOf(first).end());
  for (mlir::Value input : op.getInputs().drop_front()) {
    mlir::RankedTensorType type = tensorType(input);
    if (type.getRank() != first.getRank()) {
      return rules.violates("c2", "inputs are ", first, " and ", type, ", expected the same rank");
    }
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int64_t size = type.getDimSize(dim);
      int64_t bound = boundsOf(type).empty() ? mlir::ShapedType::kDynamic : boundsOf(type)[dim];
      if (dim != dimension) {
        if (!agree(sizes[dim], size)) {
          return rules.violates("c2", "inputs are ", first, " and ", type,
                                ", expected the same sizes but in dimension ", dimension);
        }
        if (isDynamic(sizes[dim])) sizes[dim] = size;
        if (isDynamic(bounds[dim]) || (!isDynamic(bound) && bound < bounds[dim])) {
          bounds[dim] = bound;
        }
        if (!isDynamic(sizes[dim])) bounds[dim] = mlir::ShapedType::kDynamic;
        continue;
      }
      // A bound of the sum is the sum of what each is at most.
      int64_t most = isDynamic(sizes[dim]) ? bounds[dim] : sizes[dim];
      int64_t otherMost = isDynamic(size) ? bound : size;
      int64_t sum = mlir::ShapedType::kDynamic;
      if (!isDynamic(most) && !isDynamic(otherMost) && llvm::AddOverflow(most, otherMost, sum)) {
        return rules.violates("c6", "the size of dimension ", dim,
                              " overflows, expected it to fit 63 bits");
      }
      if (isDynamic(sizes[dim]) || isDynamic(size)) {
        sizes[dim] = mlir::ShapedType::kDynamic;
        bounds[dim] = sum;
      } else {
        sizes[dim] = sum;
      }
    }
  }
  types.push_back(boundedType(sizes, first.getElementType(), bounds));
  return success();
}

// ---- Parts --------------------------------------------------------------------------------------

ISTHMUS_INFER(SliceOp, "slice") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims starts = op.getStartIndices(), limits = op.getLimitIndices(), strides = op.getStrides();
  size_t rank = operand.getRank();
  if (failed(rules.size("c2", "start_indices", starts.size(), rank)) ||
      failed(rules.size("c2", "limit_indices", limits.size(), rank)) ||
      failed(rules.size("c2", "strides", strides.size(), rank)) ||
      failed(rules.positive("c4", "strides", strides))) {
    return failure();
  }
  llvm::SmallVector<int64_t> sizes;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t size = operand.getDimSize(dim);
    // Of a dynamic dimension, its bound.
    if (isDynamic(size) && !boundsOf(operand).empty()) size = boundsOf(operand)[dim];
    if (starts[dim] < 0 || limits[dim] < starts[dim] || (!isDynamic(size) && limits[dim] > size)) {
      return rules.violates("c3", "the slice [", starts[dim], ", ", limits[dim], ") of dimension ",
                            dim, " is not inside ", operand,
                            ", expected 0 <= start <= limit <= size");
    }
    int64_t extent = limits[dim] - starts[dim];
    sizes.push_back(extent / strides[dim] + (extent % strides[dim] != 0));
  }
  types.push_back(mlir::RankedTensorType::get(sizes, operand.getElementType()));
  return success();
}

namespace {

LogicalResult verifyStarts(const Rules& rules, llvm::StringRef sizeRule, llvm::StringRef typeRule,
                           mlir::ValueRange starts, int64_t rank) {
  if (failed(rules.size(sizeRule, "start_indices", starts.size(), rank))) return failure();
  for (mlir::Value start : starts) {
    if (start.getType() != starts.front().getType()) {
      return rules.violates(typeRule, "start_indices are ", starts.front().getType(), " and ",
                            start.getType(), ", expected the same type");
    }
  }
  return success();
}

}  // namespace

ISTHMUS_INFER(DynamicSliceOp, "dynamic_slice") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims sizes = op.getSliceSizes();
  if (failed(rules.size("c2", "slice_sizes", sizes.size(), operand.getRank())) ||
      failed(verifyStarts(rules, "c2", "c3", op.getStartIndices(), operand.getRank()))) {
    return failure();
  }
  for (auto [size, whole] : llvm::zip(sizes, operand.getShape())) {
    if (size < 0 || (!isDynamic(whole) && size > whole)) {
      return rules.violates("c4", "slice_sizes are ", text(sizes), ", expected them inside ",
                            operand);
    }
  }
  types.push_back(mlir::RankedTensorType::get(sizes, operand.getElementType()));
  return success();
}

ISTHMUS_INFER(DynamicUpdateSliceOp, "dynamic_update_slice") {
  mlir::RankedTensorType operand = tensorType(op.getOperand()), update = tensorType(op.getUpdate());
  if (operand.getRank() != update.getRank()) {
    return rules.violates("c3", "the update is ", update, " for ", operand,
                          ", expected the same rank");
  }
  if (failed(verifyStarts(rules, "c4", "c5", op.getStartIndices(), operand.getRank()))) {
    return failure();
  }
  for (auto [size, whole] : llvm::zip(update.getShape(), operand.getShape())) {
    if (!isDynamic(size) && !isDynamic(whole) && size > whole) {
      return rules.violates("c6", "the update is ", update, ", expected it no larger than ",
                            operand);
    }
  }
  types.push_back(operand);
  return success();
}

ISTHMUS_INFER(PadOp, "pad") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  Dims low = op.getEdgePaddingLow(), high = op.getEdgePaddingHigh();
  Dims interior = op.getInteriorPadding(), bounds = boundsOf(operand);
  if (failed(rules.size("c2", "edge_padding_low", low.size(), operand.getRank())) ||
      failed(rules.size("c2", "edge_padding_high", high.size(), operand.getRank())) ||
      failed(rules.size("c2", "interior_padding", interior.size(), operand.getRank()))) {
    return failure();
  }
  llvm::SmallVector<int64_t> sizes, newBounds;
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    if (interior[dim] < 0) {
      return rules.violates("c3", "interior_padding is ", text(interior),
                            ", expected no negative number");
    }
    // The padded size of a size or of a bound.
    auto pad = [&](int64_t size, int64_t& padded) {
      int64_t inner;
      return !llvm::MulOverflow(std::max<int64_t>(size - 1, 0), interior[dim], inner) &&
             !llvm::AddOverflow(size, inner, padded) &&
             !llvm::AddOverflow(padded, low[dim], padded) &&
             !llvm::AddOverflow(padded, high[dim], padded) && padded >= 0;
    };
    int64_t size = operand.getDimSize(dim), padded = mlir::ShapedType::kDynamic;
    if (!isDynamic(size) && !pad(size, padded)) {
      return rules.violates(
          "c4", "dimension ", dim, " of ", operand, " padded by ", low[dim], " and ", high[dim],
          ", and ", interior[dim],
          " between elements, has no valid size, expected one from 0 to 2^63 - 1");
    }
    sizes.push_back(padded);
    if (bounds.empty()) continue;
    int64_t bound = mlir::ShapedType::kDynamic;
    if (!isDynamic(bounds[dim]) && !pad(bounds[dim], bound)) {
      return rules.violates("c4", "the bound of dimension ", dim, " of ", operand,
                            " padded has no valid size, expected one from 0 to 2^63 - 1");
    }
    newBounds.push_back(bound);
  }
  types.push_back(boundedType(sizes, operand.getElementType(), newBounds));
  return success();
}

}  // namespace isthmus::shlo
