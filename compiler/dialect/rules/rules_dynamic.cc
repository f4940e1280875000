// Rules and types of the operations whose result shape is computed by the program.
#include "compiler/dialect/rules/rules.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/IR/Matchers.h"

namespace isthmus::shlo {

using mlir::failed;
using mlir::failure;
using mlir::LogicalResult;
using mlir::success;

namespace {

// The numbers that a tensor holds, where it is a constant.
std::optional<llvm::SmallVector<int64_t>> constantOf(mlir::Value value) {
  mlir::DenseIntElementsAttr known;
  if (!mlir::matchPattern(value, mlir::m_Constant(&known))) return std::nullopt;
  llvm::SmallVector<int64_t> numbers;
  for (const llvm::APInt& number : known.getValues<llvm::APInt>()) {
    numbers.push_back(number.getSExtValue());
  }
  return numbers;
}

// A tensor of sizes has as many numbers as the result dimensions, and the same ones if known.
LogicalResult verifyShapeOperand(const Rules& rules, llvm::StringRef rule, mlir::Value shape,
                                 mlir::RankedTensorType result) {
  if (!agree(tensorType(shape).getDimSize(0), result.getRank())) {
    return rules.violates(rule, "the shape is ", shape.getType(),
                          ", expected a number for each of ", result.getRank(), " dimensions");
  }
  std::optional<llvm::SmallVector<int64_t>> sizes = constantOf(shape);
  if (!sizes) return success();
  if (llvm::any_of(*sizes, [](int64_t size) { return size < 0; }) ||
      !agree(*sizes, result.getShape())) {
    return rules.violates(rule, "the shape is ", text(*sizes), ", expected that of the result ",
                          result);
  }
  return success();
}

LogicalResult verifySameElement(const Rules& rules, mlir::RankedTensorType from,
                                mlir::RankedTensorType to) {
  mlir::Type a = from.getElementType(), b = to.getElementType();
  if (a == b || (isQuantized(a) && isQuantized(b))) return success();
  return rules.violates("c1", "element types are ", a, " and ", b, ", expected the same");
}

}  // namespace

LogicalResult DynamicBroadcastInDimOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType operand = getOperand().getType(), result = getType();
  Dims dims = getBroadcastDimensions();
  if (failed(verifySameElement(rules, operand, result)) ||
      failed(verifySameScales(rules, "c1", operand, result, /*perAxisMayDiffer=*/true)) ||
      failed(rules.size("c2", "broadcast_dimensions", dims.size(), operand.getRank())) ||
      failed(rules.allInRange("c3", "broadcast_dimensions", dims, 0, result.getRank())) ||
      failed(rules.unique("c4", "broadcast_dimensions", dims)) ||
      failed(verifyShapeOperand(rules, "c7", getOutputDimensions(), result))) {
    return failure();
  }
  std::optional<llvm::SmallVector<int64_t>> sizes = constantOf(getOutputDimensions());
  for (auto [from, to] : llvm::enumerate(dims)) {
    int64_t size = operand.getDimSize(from);
    if (size != 1 &&
        (!agree(size, result.getDimSize(to)) || (sizes && !agree(size, (*sizes)[to])))) {
      return rules.violates("c5", "dimension ", from, " of ", operand, " goes to dimension ", to,
                            " of ", result, ", expected size 1 or the same size");
    }
  }
  llvm::SmallVector<int64_t> known(getKnownExpandingDimensions().value_or(Dims()));
  llvm::append_range(known, getKnownNonexpandingDimensions().value_or(Dims()));
  if (failed(rules.unique("c8", "dimensions known to expand or not", known)) ||
      failed(rules.allInRange("c9", "known_expanding_dimensions",
                              getKnownExpandingDimensions().value_or(Dims()), 0,
                              operand.getRank())) ||
      failed(rules.allInRange("c10", "known_nonexpanding_dimensions",
                              getKnownNonexpandingDimensions().value_or(Dims()), 0,
                              operand.getRank()))) {
    return failure();
  }
  return verifyBroadcastScales(rules, operand, result, dims);
}

LogicalResult DynamicIotaOp::verify() {
  Rules rules(*this);
  if (failed(rules.inRange("c1", "iota_dimension", getIotaDimension(), 0, getType().getRank()))) {
    return failure();
  }
  return verifyShapeOperand(rules, "c2", getOutputShape(), getType());
}

LogicalResult DynamicPadOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType operand = getOperand().getType(), result = getType();
  if (failed(rules.size("c2", "edge_padding_low", getEdgePaddingLow().getType().getDimSize(0),
                        operand.getRank()))) {
    return failure();
  }
  auto low = constantOf(getEdgePaddingLow()), high = constantOf(getEdgePaddingHigh());
  auto interior = constantOf(getInteriorPadding());
  if (interior && llvm::any_of(*interior, [](int64_t count) { return count < 0; })) {
    return rules.violates("c3", "interior_padding is ", text(*interior),
                          ", expected no negative number");
  }
  if (!low || !high || !interior) return success();
  for (int64_t dim = 0; dim < operand.getRank(); ++dim) {
    int64_t size = operand.getDimSize(dim), padded;
    if (isDynamic(size)) continue;
    if (llvm::MulOverflow(std::max<int64_t>(size - 1, 0), (*interior)[dim], padded) ||
        llvm::AddOverflow(padded, size, padded) || llvm::AddOverflow(padded, (*low)[dim], padded) ||
        llvm::AddOverflow(padded, (*high)[dim], padded) || padded < 0 ||
        !agree(padded, result.getDimSize(dim))) {
      return rules.violates("c4", "dimension ", dim, " of ", operand, " padded by ", (*low)[dim],
                            ", ", (*high)[dim], " and ", (*interior)[dim],
                            " between elements, expected it to fit ", result);
    }
  }
  return success();
}

LogicalResult DynamicReshapeOp::verify() {
  Rules rules(*this);
  mlir::RankedTensorType operand = getOperand().getType(), result = getType();
  if (failed(verifySameElement(rules, operand, result)) ||
      failed(verifyReshape(rules, operand, result)) ||
      failed(verifyShapeOperand(rules, "c4", getOutputShape(), result))) {
    return failure();
  }
  auto sizes = constantOf(getOutputShape());
  int64_t count = *product(operand.getShape());
  if (!sizes || isDynamic(count) || product(*sizes) == count) return success();
  return rules.violates("c2", "the operand ", operand, " has ", count,
                        " elements, expected as many as output_shape says, ", text(*sizes));
}

LogicalResult RealDynamicSliceOp::verify() {
  Rules rules(*this);
  int64_t rank = getOperand().getType().getRank();
  if (getType().getRank() != rank) {
    return rules.violates("c2", "the result is ", getType(), ", expected rank ", rank);
  }
  if (agree(getStartIndices().getType().getDimSize(0), rank)) return success();
  return rules.violates("c2", "start_indices are ", getStartIndices().getType(), ", expected ",
                        rank, " numbers");
}

ISTHMUS_INFER(GetDimensionSizeOp, "get_dimension_size") {
  if (failed(rules.inRange("c1", "dimension", op.getDimension(), 0,
                           tensorType(op.getOperand()).getRank()))) {
    return failure();
  }
  types.push_back(mlir::RankedTensorType::get({}, mlir::IntegerType::get(context, 32)));
  return success();
}

ISTHMUS_INFER(SetDimensionSizeOp, "set_dimension_size") {
  mlir::RankedTensorType operand = tensorType(op.getOperand());
  int64_t dim = op.getDimension();
  if (tensorType(op.getSize()).getRank() != 0) {
    return rules.violates("i2", "size is ", op.getSize().getType(), ", expected a scalar");
  }
  if (failed(rules.inRange("c1", "dimension", dim, 0, operand.getRank()))) return failure();
  llvm::SmallVector<int64_t> sizes(operand.getShape());
  llvm::SmallVector<int64_t> bounds(operand.getRank(), mlir::ShapedType::kDynamic);
  if (!boundsOf(operand).empty()) bounds.assign(boundsOf(operand).begin(), boundsOf(operand).end());
  if (!isDynamic(sizes[dim])) bounds[dim] = sizes[dim];
  sizes[dim] = mlir::ShapedType::kDynamic;
  // The whole of what there can be is a static size.
  if (auto size = constantOf(op.getSize()); size && size->front() == bounds[dim]) {
    std::swap(sizes[dim], bounds[dim]);
  }
  types.push_back(boundedType(sizes, operand.getElementType(), bounds));
  return success();
}

// ---- Random numbers, whose shape is computed too ------------------------------------------------

ISTHMUS_INFER(RngOp, "rng") {
  mlir::Type element = tensorType(op.getA()).getElementType();
  if (op.getRngDistribution() == RngDistribution::NORMAL && !llvm::isa<mlir::FloatType>(element)) {
    return rules.violates("c2", "a NORMAL distribution of ", element, ", expected floats");
  }
  llvm::SmallVector<int64_t> sizes(tensorType(op.getShape()).getDimSize(0),
                                   mlir::ShapedType::kDynamic);
  if (auto known = constantOf(op.getShape())) {
    sizes.assign(known->begin(), known->end());
    if (llvm::any_of(sizes, [](int64_t size) { return size < 0; })) {
      return rules.violates("c3", "shape is ", text(sizes), ", expected no negative size");
    }
  }
  types.push_back(mlir::RankedTensorType::get(sizes, element));
  return success();
}

}  // namespace isthmus::shlo
