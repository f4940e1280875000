// Recognizes the comparators that frameworks emit, and makes fusions of the others.
#include "compiler/program/comparator.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/type_conversion.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {
namespace {

// An argument of the comparator, perhaps with its zeros and NaNs made equal.
struct KeyOperand {
  unsigned argument = 0;
  bool canonicalZero = false;
  bool canonicalNan = false;
};

bool isConstantFloat(mlir::Value value, llvm::function_ref<bool(const llvm::APFloat&)> test) {
  mlir::DenseElementsAttr constant;
  return mlir::matchPattern(value, mlir::m_Constant(&constant)) && constant.isSplat() &&
         llvm::isa<mlir::FloatType>(constant.getElementType()) &&
         test(constant.getSplatValue<llvm::APFloat>());
}

// x itself, select(x == 0, 0, x), select(x != x, NaN, x), or both.
std::optional<KeyOperand> matchOperand(mlir::Value value, mlir::Block& block) {
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    if (argument.getOwner() != &block) return std::nullopt;
    return KeyOperand{argument.getArgNumber()};
  }
  auto select = value.getDefiningOp<shlo::SelectOp>();
  if (!select) return std::nullopt;
  auto test = select.getPred().getDefiningOp<shlo::CompareOp>();
  if (!test || test.getCompareType() == shlo::ComparisonType::TOTALORDER) return std::nullopt;
  std::optional<KeyOperand> inner = matchOperand(select.getOnFalse(), block);
  std::optional<KeyOperand> tested = matchOperand(test.getLhs(), block);
  if (!inner || !tested || inner->argument != tested->argument) return std::nullopt;
  auto isZero = [](const llvm::APFloat& number) { return number.isZero(); };
  if (test.getComparisonDirection() == shlo::ComparisonDirection::EQ &&
      isConstantFloat(test.getRhs(), isZero) && isConstantFloat(select.getOnTrue(), isZero)) {
    inner->canonicalZero = true;
    return inner;
  }
  if (test.getComparisonDirection() == shlo::ComparisonDirection::NE &&
      test.getRhs() == test.getLhs() &&
      isConstantFloat(select.getOnTrue(), [](const llvm::APFloat& number) {
        return number.isNaN() && !number.isNegative();
      })) {
    inner->canonicalNan = true;
    return inner;
  }
  return std::nullopt;
}

struct KeyComparison {
  unsigned operand;  // of the sort
  SortKey key;
  bool isEquality;
};

// compare(left of an operand, right of the same operand).
std::optional<KeyComparison> matchComparison(mlir::Value value, mlir::Block& block) {
  auto compare = value.getDefiningOp<shlo::CompareOp>();
  if (!compare) return std::nullopt;
  std::optional<KeyOperand> left = matchOperand(compare.getLhs(), block);
  std::optional<KeyOperand> right = matchOperand(compare.getRhs(), block);
  if (!left || !right || left->argument / 2 != right->argument / 2 ||
      left->argument == right->argument || left->canonicalZero != right->canonicalZero ||
      left->canonicalNan != right->canonicalNan || left->canonicalZero != left->canonicalNan) {
    return std::nullopt;
  }
  bool isSwapped = left->argument % 2 == 1;
  bool isLess = compare.getComparisonDirection() == shlo::ComparisonDirection::LT;
  bool isGreater = compare.getComparisonDirection() == shlo::ComparisonDirection::GT;
  bool isEqual = compare.getComparisonDirection() == shlo::ComparisonDirection::EQ;
  if (!isLess && !isGreater && !isEqual) return std::nullopt;
  mlir::Type element =
      llvm::cast<mlir::RankedTensorType>(compare.getLhs().getType()).getElementType();
  SortKey key{toElementType(element), SortOrder::kNumeric, isLess == isSwapped};
  if (llvm::isa<mlir::FloatType>(element)) {
    // In the partial order of floats NaNs have no place.
    if (compare.getCompareType() != shlo::ComparisonType::TOTALORDER) return std::nullopt;
    key.order = left->canonicalZero ? SortOrder::kNumeric : SortOrder::kTotal;
  } else if (!llvm::isa<mlir::IntegerType>(element)) {
    return std::nullopt;
  }
  return KeyComparison{left->argument / 2, key, isEqual};
}

// before(k) = less(k), or (equal(k) and before(k + 1)).
bool matchKeys(mlir::Value value, mlir::Block& block, std::vector<SortKey>& keys) {
  if (keys.size() >= kMaxSortKeys) return false;
  if (std::optional<KeyComparison> single = matchComparison(value, block)) {
    if (single->isEquality || single->operand != keys.size()) return false;
    keys.push_back(single->key);
    return true;
  }
  auto either = value.getDefiningOp<shlo::OrOp>();
  if (!either) return false;
  for (bool isFlipped : {false, true}) {
    mlir::Value less = isFlipped ? either.getRhs() : either.getLhs();
    auto both = (isFlipped ? either.getLhs() : either.getRhs()).getDefiningOp<shlo::AndOp>();
    std::optional<KeyComparison> first = matchComparison(less, block);
    if (!both || !first || first->isEquality || first->operand != keys.size()) continue;
    for (bool isAndFlipped : {false, true}) {
      mlir::Value equal = isAndFlipped ? both.getRhs() : both.getLhs();
      mlir::Value rest = isAndFlipped ? both.getLhs() : both.getRhs();
      std::optional<KeyComparison> equality = matchComparison(equal, block);
      if (!equality || !equality->isEquality || equality->operand != first->operand ||
          equality->key.order != first->key.order) {
        continue;
      }
      keys.push_back(first->key);
      return matchKeys(rest, block, keys);
    }
  }
  return false;
}

}  // namespace

std::optional<std::vector<SortKey>> recognizeKeys(mlir::Region& comparator) {
  mlir::Block& block = comparator.front();
  std::vector<SortKey> keys;
  if (!matchKeys(block.getTerminator()->getOperand(0), block, keys)) return std::nullopt;
  return keys;
}

StatusOr<ir::FusionOp> comparatorFusion(mlir::Region& comparator, mlir::Block& operands) {
  mlir::Block& body = comparator.front();
  mlir::Location location = comparator.getLoc();
  for (mlir::BlockArgument argument : body.getArguments()) {
    operands.addArgument(argument.getType(), location);
  }
  mlir::Operation* terminator = body.getTerminator();
  mlir::OpBuilder builder(comparator.getContext());
  auto fusion = ir::FusionOp::create(builder, location, terminator->getOperandTypes(),
                                     mlir::ValueRange(operands.getArguments()));
  mlir::Block& block = fusion.getBody().emplaceBlock();
  builder.setInsertionPointToEnd(&block);
  mlir::IRMapping mapping;
  for (mlir::BlockArgument argument : body.getArguments()) {
    mapping.map(argument, block.addArgument(argument.getType(), location));
  }
  Status status;
  body.walk([&](mlir::Operation* op) {
    for (mlir::Value operand : op->getOperands()) {
      if (mapping.contains(operand) || comparator.isAncestor(operand.getParentRegion())) continue;
      mlir::Operation* outside = operand.getDefiningOp();
      if (!outside || !llvm::isa<shlo::ConstantOp>(outside)) {
        status = unimplemented("its comparator uses a value from outside");
        return;
      }
      builder.clone(*outside, mapping);
    }
  });
  if (!status.ok()) {
    fusion->destroy();
    return status;
  }
  for (mlir::Operation& op : body.without_terminator()) builder.clone(op, mapping);
  llvm::SmallVector<mlir::Value> yielded;
  for (mlir::Value value : terminator->getOperands()) yielded.push_back(mapping.lookup(value));
  ir::YieldOp::create(builder, location, yielded);
  return fusion;
}

}  // namespace isthmus
