// Integer arithmetic on shapes, element by element and wrapped to the element type.
#include "compiler/passes/known_integers.h"

#include "compiler/dialect/dialect.h"
#include "llvm/ADT/TypeSwitch.h"

namespace isthmus {
namespace {

using Numbers = KnownIntegers::Numbers;
using mlir::RankedTensorType;

// Producers are followed this far.
constexpr int kMaxDepth = 500;

mlir::IntegerType integerType(mlir::Value value) {
  auto tensor = llvm::dyn_cast<RankedTensorType>(value.getType());
  auto type = tensor ? llvm::dyn_cast<mlir::IntegerType>(tensor.getElementType()) : nullptr;
  return type && type.getWidth() <= 64 ? type : nullptr;
}

// `number` as an array of `type` holds it. Booleans are 0 and 1.
int64_t wrap(int64_t number, mlir::IntegerType type) {
  if (type.getWidth() == 64) return number;
  llvm::APInt narrow(64, static_cast<uint64_t>(number));
  narrow = narrow.trunc(type.getWidth());
  bool isSigned = !type.isUnsigned() && type.getWidth() > 1;
  return isSigned ? narrow.getSExtValue() : static_cast<int64_t>(narrow.getZExtValue());
}

std::optional<int64_t> divide(int64_t a, int64_t b, bool isUnsigned, bool wantRemainder) {
  // What division by zero gives is no shape.
  if (b == 0 || (!isUnsigned && a == INT64_MIN && b == -1)) return std::nullopt;
  if (isUnsigned) {
    auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
    return static_cast<int64_t>(wantRemainder ? x % y : x / y);
  }
  return wantRemainder ? a % b : a / b;
}

bool less(int64_t a, int64_t b, bool isUnsigned) {
  return isUnsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

bool compare(shlo::ComparisonDirection direction, int64_t a, int64_t b, bool isUnsigned) {
  switch (direction) {
    case shlo::ComparisonDirection::EQ:
      return a == b;
    case shlo::ComparisonDirection::NE:
      return a != b;
    case shlo::ComparisonDirection::LT:
      return less(a, b, isUnsigned);
    case shlo::ComparisonDirection::LE:
      return !less(b, a, isUnsigned);
    case shlo::ComparisonDirection::GT:
      return less(b, a, isUnsigned);
    case shlo::ComparisonDirection::GE:
      return !less(a, b, isUnsigned);
  }
  return false;
}

// One element of an operation on elements at the same index; `type` is that of the operands.
std::optional<int64_t> element(mlir::Operation* op, llvm::ArrayRef<int64_t> x,
                               mlir::IntegerType type) {
  bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
  bool isBool = type.getWidth() == 1;
  auto add = [](int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  };
  auto negate = [](int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); };
  return llvm::TypeSwitch<mlir::Operation*, std::optional<int64_t>>(op)
      .Case<shlo::AddOp>([&](auto) { return isBool ? x[0] | x[1] : add(x[0], x[1]); })
      .Case<shlo::SubtractOp>([&](auto) { return isBool ? x[0] ^ x[1] : add(x[0], negate(x[1])); })
      .Case<shlo::MulOp>([&](auto) {
        return static_cast<int64_t>(static_cast<uint64_t>(x[0]) * static_cast<uint64_t>(x[1]));
      })
      .Case<shlo::DivOp>([&](auto) { return divide(x[0], x[1], isUnsigned, false); })
      .Case<shlo::RemOp>([&](auto) { return divide(x[0], x[1], isUnsigned, true); })
      .Case<shlo::MaxOp>([&](auto) { return less(x[0], x[1], isUnsigned) ? x[1] : x[0]; })
      .Case<shlo::MinOp>([&](auto) { return less(x[1], x[0], isUnsigned) ? x[1] : x[0]; })
      .Case<shlo::AndOp>([&](auto) { return x[0] & x[1]; })
      .Case<shlo::OrOp>([&](auto) { return x[0] | x[1]; })
      .Case<shlo::XorOp>([&](auto) { return x[0] ^ x[1]; })
      .Case<shlo::NotOp>([&](auto) { return isBool ? !x[0] : ~x[0]; })
      .Case<shlo::NegOp>([&](auto) { return isBool ? x[0] : negate(x[0]); })
      .Case<shlo::AbsOp>([&](auto) { return less(x[0], 0, isUnsigned) ? negate(x[0]) : x[0]; })
      .Case<shlo::SignOp>([&](auto) {
        return less(x[0], 0, isUnsigned) ? int64_t{-1} : static_cast<int64_t>(x[0] != 0);
      })
      .Case<shlo::ConvertOp>([&](auto convert) {
        return integerType(convert.getResult()).getWidth() == 1 ? int64_t{x[0] != 0} : x[0];
      })
      .Case<shlo::CompareOp>([&](shlo::CompareOp comparison) {
        return int64_t{compare(comparison.getComparisonDirection(), x[0], x[1], isUnsigned)};
      })
      .Case<shlo::SelectOp>([&](auto) { return x[0] ? x[1] : x[2]; })
      .Case<shlo::ClampOp>([&](auto) {
        int64_t atLeast = less(x[1], x[0], isUnsigned) ? x[0] : x[1];
        return less(x[2], atLeast, isUnsigned) ? x[2] : atLeast;
      })
      .Default([](auto) { return std::nullopt; });
}

}  // namespace

std::optional<Numbers> KnownIntegers::of(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  mlir::IntegerType type = integerType(value);
  if (!op || !type || depth_ > kMaxDepth) return std::nullopt;
  auto tensor = llvm::cast<RankedTensorType>(value.getType());
  if (tensor.hasStaticShape() && tensor.getNumElements() > kMaxElements) return std::nullopt;
  if (auto found = known_.find(value); found != known_.end()) return found->second;
  ++depth_;
  std::optional<Numbers> numbers = compute(op, value);
  --depth_;
  if (numbers && static_cast<int64_t>(numbers->size()) > kMaxElements) numbers.reset();
  if (numbers) {
    for (int64_t& number : *numbers) number = wrap(number, type);
  }
  known_[value] = numbers;
  return numbers;
}

std::optional<Numbers> KnownIntegers::compute(mlir::Operation* op, mlir::Value value) {
  auto tensor = llvm::cast<RankedTensorType>(value.getType());
  if (auto constant = llvm::dyn_cast<shlo::ConstantOp>(op)) {
    auto dense = llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue());
    if (!dense) return std::nullopt;
    Numbers numbers;
    for (const llvm::APInt& number : dense.getValues<llvm::APInt>()) {
      numbers.push_back(static_cast<int64_t>(number.getZExtValue()));
    }
    return numbers;
  }
  if (auto size = llvm::dyn_cast<shlo::GetDimensionSizeOp>(op)) {
    auto operand = llvm::cast<RankedTensorType>(size.getOperand().getType());
    if (operand.isDynamicDim(size.getDimension())) return std::nullopt;
    return Numbers{operand.getDimSize(size.getDimension())};
  }
  if (llvm::isa<shlo::ReshapeOp, shlo::DynamicReshapeOp>(op)) return of(op->getOperand(0));
  if (auto concatenate = llvm::dyn_cast<shlo::ConcatenateOp>(op)) {
    if (tensor.getRank() != 1) return std::nullopt;
    Numbers numbers;
    for (mlir::Value operand : concatenate.getInputs()) {
      std::optional<Numbers> part = of(operand);
      if (!part) return std::nullopt;
      numbers.append(*part);
    }
    return numbers;
  }
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    std::optional<Numbers> operand = of(slice.getOperand());
    if (!operand || tensor.getRank() != 1) return std::nullopt;
    Numbers numbers;
    for (int64_t i = slice.getStartIndices()[0]; i < slice.getLimitIndices()[0];
         i += slice.getStrides()[0]) {
      if (i >= static_cast<int64_t>(operand->size())) return std::nullopt;
      numbers.push_back((*operand)[i]);
    }
    return numbers;
  }
  if (!tensor.hasStaticShape()) return std::nullopt;
  size_t count = tensor.getNumElements();
  if (llvm::isa<shlo::BroadcastInDimOp, shlo::BroadcastOp, shlo::DynamicBroadcastInDimOp>(op)) {
    std::optional<Numbers> operand = of(op->getOperand(0));
    if (!operand || operand->size() != 1) return std::nullopt;
    return Numbers(count, (*operand)[0]);
  }
  if (llvm::isa<shlo::IotaOp>(op) && tensor.getRank() == 1) {
    Numbers numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(static_cast<int64_t>(i));
    return numbers;
  }
  if (op->getNumRegions() || op->getNumOperands() == 0) return std::nullopt;
  llvm::SmallVector<Numbers, 3> operands;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<Numbers> numbers = of(operand);
    if (!numbers || (numbers->size() != count && numbers->size() != 1)) return std::nullopt;
    operands.push_back(*numbers);
  }
  mlir::IntegerType type = integerType(op->getOperand(op->getNumOperands() > 1 ? 1 : 0));
  Numbers results;
  for (size_t i = 0; i < count; ++i) {
    llvm::SmallVector<int64_t, 3> x;
    for (const Numbers& operand : operands) x.push_back(operand[operand.size() == 1 ? 0 : i]);
    std::optional<int64_t> result = element(op, x, type);
    if (!result) return std::nullopt;
    results.push_back(*result);
  }
  return results;
}

}  // namespace isthmus
