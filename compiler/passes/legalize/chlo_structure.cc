// What is more than elementwise in chlo: broadcasting forms, constants, top_k, ragged_dot.
#include <initializer_list>
#include <numeric>

#include "compiler/dialect/chlo.h"
#include "compiler/dialect/diagnostics/diagnostics.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/passes/legalize/array_builder.h"
#include "compiler/passes/legalize/patterns.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::RankedTensorType;
using mlir::Value;
using Dims = llvm::SmallVector<int64_t>;

RankedTensorType staticType(mlir::Type type) {
  auto array = llvm::dyn_cast<RankedTensorType>(type);
  return array && array.hasStaticShape() ? array : RankedTensorType();
}

// An operand in the shape of the result: by `dimensions` if it is of lower rank and they are said,
// else aligned at the last dimension; sizes of one grow. Null if it does not fit.
Value broadcastTo(ArrayBuilder& b, Value operand, llvm::ArrayRef<int64_t> shape,
                  std::optional<llvm::ArrayRef<int64_t>> dimensions) {
  RankedTensorType type = staticType(operand.getType());
  auto rank = static_cast<int64_t>(shape.size());
  if (!type || type.getRank() > rank) return {};
  if (type.getShape() == shape) return operand;
  Dims map(type.getRank());
  std::iota(map.begin(), map.end(), rank - type.getRank());
  if (dimensions && type.getRank() < rank) map.assign(dimensions->begin(), dimensions->end());
  if (static_cast<int64_t>(map.size()) != type.getRank()) return {};
  for (auto [d, to] : llvm::enumerate(map)) {
    if (to < 0 || to >= rank || (type.getDimSize(d) != 1 && type.getDimSize(d) != shape[to])) {
      return {};
    }
  }
  return b.broadcast(operand, shape, map);
}

// To the operation of the same name in `dialect`, with operands of the result's shape.
template <typename Op>
struct LegalizeBroadcasting : mlir::OpRewritePattern<Op> {
  using mlir::OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    RankedTensorType type = staticType(op->getResult(0).getType());
    if (!type) return mlir::failure();
    ArrayBuilder b(op, rewriter);
    std::optional<llvm::ArrayRef<int64_t>> dimensions;
    if (auto given = op->template getAttrOfType<mlir::DenseI64ArrayAttr>("broadcast_dimensions")) {
      dimensions = given.asArrayRef();
    }
    llvm::SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      Value whole = broadcastTo(b, operand, type.getShape(), dimensions);
      if (!whole) return mlir::failure();
      operands.push_back(whole);
    }
    rewriter.replaceOp(op, build(op, operands, type, b));
    return mlir::success();
  }

  Value build(Op op, llvm::ArrayRef<Value> x, RankedTensorType type, ArrayBuilder& b) const {
    mlir::OpBuilder& builder = b.builder();
    if constexpr (std::is_same_v<Op, chlo::BroadcastSelectOp>) {
      return b.select(x[0], x[1], x[2]);
    } else if constexpr (std::is_same_v<Op, chlo::BroadcastCompareOp>) {
      auto direction = static_cast<shlo::ComparisonDirection>(op.getComparisonDirection());
      auto kind = op.getCompareType() ? static_cast<shlo::ComparisonType>(*op.getCompareType())
                                      : shlo::ComparisonType::NOTYPE;
      return shlo::CompareOp::create(builder, b.location(), x[0], x[1], direction, kind);
    } else {
      llvm::StringRef name = op->getName().stripDialect();
      name.consume_front("broadcast_");
      bool isChlo = name == "next_after" || name == "polygamma" || name == "zeta";
      mlir::OperationState state(b.location(), (isChlo ? "chlo." : "stablehlo.") + name.str());
      state.addOperands(x);
      state.addTypes(type);
      return builder.create(state)->getResult(0);
    }
  }
};

static_assert(static_cast<int>(shlo::ComparisonDirection::GT) ==
              static_cast<int>(chlo::ComparisonDirection::GT));
static_assert(static_cast<int>(shlo::ComparisonType::TOTALORDER) ==
              static_cast<int>(chlo::ComparisonType::TOTALORDER));

LogicalResult legalizeConstant(chlo::ConstantOp op, PatternRewriter& rewriter) {
  rewriter.replaceOpWithNewOp<shlo::ConstantOp>(op, op.getType(), op.getValue());
  return mlir::success();
}

LogicalResult legalizeConstantLike(chlo::ConstantLikeOp op, PatternRewriter& rewriter) {
  RankedTensorType type = staticType(op.getType());
  mlir::TypedAttr value = op.getValue();
  if (!type || value.getType() != type.getElementType()) return mlir::failure();
  rewriter.replaceOpWithNewOp<shlo::ConstantOp>(
      op, type, mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>{value}));
  return mlir::success();
}

// A stable descending sort of values with their places, cut off after k.
LogicalResult legalizeTopK(chlo::TopKOp op, PatternRewriter& rewriter) {
  RankedTensorType type = staticType(op.getOperand().getType());
  auto indexType = llvm::dyn_cast<RankedTensorType>(op.getIndices().getType());
  if (!type || !indexType || type.getRank() == 0) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  int64_t last = type.getRank() - 1;
  RankedTensorType placeType = type.clone(indexType.getElementType());
  llvm::SmallVector<Value> inputs{op.getOperand(), b.iota(placeType, last)};
  auto sort = shlo::SortOp::create(rewriter, op.getLoc(), inputs, last, /*isStable=*/true);
  {
    mlir::OpBuilder::InsertionGuard guard(rewriter);
    auto scalar = RankedTensorType::get({}, type.getElementType());
    auto place = RankedTensorType::get({}, indexType.getElementType());
    mlir::Block* block =
        rewriter.createBlock(&sort.getComparator(), {}, {scalar, scalar, place, place},
                             llvm::SmallVector<mlir::Location>(4, op.getLoc()));
    auto kind = llvm::isa<mlir::FloatType>(type.getElementType()) ? shlo::ComparisonType::TOTALORDER
                                                                  : shlo::ComparisonType::NOTYPE;
    Value greater =
        shlo::CompareOp::create(rewriter, op.getLoc(), block->getArgument(0), block->getArgument(1),
                                shlo::ComparisonDirection::GT, kind);
    shlo::ReturnOp::create(rewriter, op.getLoc(), mlir::ValueRange{greater});
  }
  Dims starts(type.getRank(), 0), limits(type.getShape());
  limits[last] = static_cast<int64_t>(op.getK());
  llvm::SmallVector<Value> results;
  for (Value sorted : sort.getResults()) results.push_back(b.slice(sorted, starts, limits));
  rewriter.replaceOp(op, results);
  return mlir::success();
}

// True at (batch…, group, place) where the place lies in the group: sizes summed up to and with it
// exceed the place, those before it do not.
Value groupMask(ArrayBuilder& b, Value sizes, int64_t places) {
  RankedTensorType type = tensorTypeOf(sizes);
  int64_t rank = type.getRank(), groups = type.getDimSize(rank - 1);
  // ends[…, g] = Σ_h sizes[…, h] [h <= g], as a contraction with a triangle of ones.
  auto square = RankedTensorType::get({groups, groups}, type.getElementType());
  Value upTo = b.compare(b.iota(square, 0), b.iota(square, 1), shlo::ComparisonDirection::LE);
  Value triangle = b.convert(upTo, type.getElementType());
  auto numbers =
      shlo::DotDimensionNumbersAttr::get(b.builder().getContext(), {}, {}, {rank - 1}, {0});
  Value ends = shlo::DotGeneralOp::create(b.builder(), b.location(), type, sizes, triangle, numbers,
                                          mlir::ArrayAttr(), shlo::DotAlgorithmAttr());
  Value begins = b.sub(ends, sizes);
  Dims shape(type.getShape());
  shape.push_back(places);
  Dims map(rank);
  std::iota(map.begin(), map.end(), 0);
  Value place = b.iota(RankedTensorType::get(shape, type.getElementType()), rank);
  Value after = b.compare(place, b.broadcast(begins, shape, map), shlo::ComparisonDirection::GE);
  Value before = b.compare(place, b.broadcast(ends, shape, map), shlo::ComparisonDirection::LT);
  return b.make<shlo::AndOp>(after, before);
}

// Whether the dimensions of a list of lists exist, each once.
bool areDimensionsOf(RankedTensorType type, std::initializer_list<llvm::ArrayRef<int64_t>> lists) {
  llvm::SmallDenseSet<int64_t> seen;
  for (llvm::ArrayRef<int64_t> list : lists) {
    for (int64_t d : list) {
      if (d < 0 || d >= type.getRank() || !seen.insert(d).second) return false;
    }
  }
  return true;
}

// That the sizes of what is contracted and of the result agree is a rule of the contraction that it
// becomes.
LogicalResult checkRaggedDot(chlo::RaggedDotOp op) {
  chlo::RaggedDotDimensionNumbersAttr numbers = op.getRaggedDotDimensionNumbers();
  RankedTensorType lhs = tensorTypeOf(op.getLhs()), rhs = tensorTypeOf(op.getRhs());
  RankedTensorType sizes = tensorTypeOf(op.getGroupSizes());
  llvm::ArrayRef<int64_t> batch = numbers.getLhsBatchingDimensions();
  if (!areDimensionsOf(lhs, {batch, numbers.getLhsContractingDimensions()}) ||
      !areDimensionsOf(lhs, {numbers.getLhsRaggedDimensions()}) ||
      !areDimensionsOf(rhs,
                       {numbers.getRhsBatchingDimensions(), numbers.getRhsContractingDimensions(),
                        numbers.getRhsGroupDimensions()})) {
    return emitInvalid(op, "has dimension numbers that ")
           << lhs << " and " << rhs << " do not have, or twice";
  }
  for (int64_t b = 0; b + 1 < sizes.getRank() && b < static_cast<int64_t>(batch.size()); ++b) {
    if (sizes.getDimSize(b) != lhs.getDimSize(batch[b])) {
      return emitInvalid(op, "has group sizes ")
             << sizes << ", expected dimension " << b << " as large as dimension " << batch[b]
             << " of " << lhs;
    }
  }
  return mlir::success();
}

// A ragged contraction is an ordinary one of lhs spread over the groups, with zeros outside of each
// group: over the groups too where rhs has a slice for each, and with a result for each where the
// ragged dimension is summed over. A ragged batch dimension is a batch dimension.
LogicalResult legalizeRaggedDot(chlo::RaggedDotOp op, PatternRewriter& rewriter) {
  chlo::RaggedDotDimensionNumbersAttr numbers = op.getRaggedDotDimensionNumbers();
  RankedTensorType lhs = staticType(op.getLhs().getType()), rhs = staticType(op.getRhs().getType());
  RankedTensorType sizes = staticType(op.getGroupSizes().getType());
  RankedTensorType type = staticType(op.getType());
  if (!lhs || !rhs || !sizes || !type || numbers.getLhsRaggedDimensions().size() != 1) {
    return mlir::failure();
  }
  if (mlir::failed(checkRaggedDot(op))) return mlir::failure();
  ArrayBuilder b(op, rewriter);
  int64_t ragged = numbers.getLhsRaggedDimensions()[0];
  Dims leftBatch(numbers.getLhsBatchingDimensions()),
      rightBatch(numbers.getRhsBatchingDimensions());
  Dims leftSum(numbers.getLhsContractingDimensions());
  Dims rightSum(numbers.getRhsContractingDimensions());
  // Null if the contraction breaks its rules, which it then has reported.
  auto contract = [&](Value left, RankedTensorType product) -> Value {
    auto dims = shlo::DotDimensionNumbersAttr::get(op.getContext(), leftBatch, rightBatch, leftSum,
                                                   rightSum);
    auto dot = shlo::DotGeneralOp::create(rewriter, op.getLoc(), product, left, op.getRhs(), dims,
                                          mlir::ArrayAttr(), shlo::DotAlgorithmAttr());
    if (mlir::succeeded(verifyRules(dot))) return dot;
    rewriter.eraseOp(dot);
    return {};
  };
  auto replaceBy = [&](Value result) {
    if (!result) return mlir::failure();
    rewriter.replaceOp(op, result);
    return mlir::success();
  };
  if (llvm::is_contained(leftBatch, ragged)) {
    return replaceBy(contract(op.getLhs(), type));
  }
  bool isSummed = llvm::is_contained(leftSum, ragged);
  // Sizes are one for each group, or, with the batch dimensions before, for each group of a batch.
  int64_t batches = sizes.getRank() - 1;
  if (sizes.getRank() == 0 || batches > static_cast<int64_t>(leftBatch.size()) ||
      (isSummed ? 0 : 1) != numbers.getRhsGroupDimensions().size()) {
    return mlir::failure();
  }
  // The spread lhs has the groups in front, or last of the batch where the result has one each.
  Dims shape{sizes.getShape().back()};
  llvm::append_range(shape, lhs.getShape());
  Dims map(lhs.getRank());
  std::iota(map.begin(), map.end(), 1);
  Value spread = b.broadcast(op.getLhs(), shape, map);
  Dims maskMap;
  for (int64_t d = 0; d < batches; ++d) maskMap.push_back(leftBatch[d] + 1);
  maskMap.push_back(0);
  maskMap.push_back(ragged + 1);
  Value mask = groupMask(b, op.getGroupSizes(), lhs.getDimSize(ragged));
  // broadcast_in_dim wants no order of its dimensions.
  mask = b.broadcast(mask, shape, maskMap);
  Value masked = b.select(mask, spread, b.zeros(tensorTypeOf(spread)));
  for (Dims* dims : {&leftBatch, &leftSum}) {
    for (int64_t& d : *dims) ++d;
  }
  if (!isSummed) {
    leftSum.push_back(0);
    rightSum.push_back(numbers.getRhsGroupDimensions()[0]);
    return replaceBy(contract(masked, type));
  }
  // The groups are a free dimension of lhs: after the batch, where the result has them in front.
  Dims given(type.getShape());
  auto front = static_cast<int64_t>(leftBatch.size());
  if (front >= type.getRank()) {
    return emitInvalid(op, "has a result ") << type << " of too few dimensions";
  }
  std::rotate(given.begin(), given.begin() + 1, given.begin() + 1 + front);
  Value product = contract(masked, type.clone(given));
  if (!product) return mlir::failure();
  Dims order{front};
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (d != front) order.push_back(d);
  }
  rewriter.replaceOpWithNewOp<shlo::TransposeOp>(op, type, product, order);
  return mlir::success();
}

template <typename... Ops>
void addBroadcasting(mlir::RewritePatternSet& patterns) {
  patterns.add<LegalizeBroadcasting<Ops>...>(patterns.getContext());
}

}  // namespace

void addChloStructurePatterns(mlir::RewritePatternSet& patterns) {
  addBroadcasting<chlo::BroadcastAddOp, chlo::BroadcastAndOp, chlo::BroadcastAtan2Op,
                  chlo::BroadcastCompareOp, chlo::BroadcastComplexOp, chlo::BroadcastDivOp,
                  chlo::BroadcastMaxOp, chlo::BroadcastMinOp, chlo::BroadcastMulOp,
                  chlo::BroadcastNextAfterOp, chlo::BroadcastOrOp, chlo::BroadcastPolygammaOp,
                  chlo::BroadcastPowOp, chlo::BroadcastRemOp, chlo::BroadcastSelectOp,
                  chlo::BroadcastShiftLeftOp, chlo::BroadcastShiftRightArithmeticOp,
                  chlo::BroadcastShiftRightLogicalOp, chlo::BroadcastSubOp, chlo::BroadcastXorOp,
                  chlo::BroadcastZetaOp>(patterns);
  patterns.add(legalizeConstant);
  patterns.add(legalizeConstantLike);
  patterns.add(legalizeRaggedDot);
  patterns.add(legalizeTopK);
}

}  // namespace isthmus
