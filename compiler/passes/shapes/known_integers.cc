// Follows integers to where they come from; arithmetic on them is the reference evaluator's.
#include "compiler/passes/shapes/known_integers.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/dialect/types/type_conversion.h"
#include "compiler/reference/interpreter.h"
#include "compiler/reference/scalar/scalar.h"

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

// An elementwise operation with `count` results on operands of as many elements, or of one for all.
std::optional<Numbers> evaluate(mlir::Operation* op, llvm::ArrayRef<Numbers> operands,
                                size_t count) {
  // What division by zero gives is no shape.
  bool divides = llvm::isa<shlo::DivOp, shlo::RemOp>(op);
  if (divides && llvm::is_contained(operands[1], 0)) return std::nullopt;
  std::vector<reference::Value> values;
  for (auto [value, numbers] : llvm::zip(op->getOperands(), operands)) {
    StatusOr<reference::Tensor> tensor =
        reference::Tensor::make({toElementType(value.getType()), {static_cast<int64_t>(count)}});
    if (!tensor.ok()) return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      int64_t number = numbers[numbers.size() == 1 ? 0 : i];
      tensor->set(static_cast<int64_t>(i), reference::scalars::makeInteger(number));
    }
    values.emplace_back(std::move(tensor).value());
  }
  reference::Interpreter interpreter(op->getParentOfType<mlir::ModuleOp>(), {});
  StatusOr<std::vector<reference::Value>> results = interpreter.evaluate(op, values);
  if (!results.ok()) return std::nullopt;
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) {
    numbers.push_back(results->front().tensor.integer(static_cast<int64_t>(i)));
  }
  return numbers;
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
    // Row after row, as they lie in memory.
    for (uint64_t d = 0; d < concatenate.getDimension(); ++d) {
      if (tensor.getDimSize(d) != 1) return std::nullopt;
    }
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
  if (fusionClass(op) != FusionClass::kElementwise) return std::nullopt;
  llvm::SmallVector<Numbers, 3> operands;
  for (mlir::Value operand : op->getOperands()) {
    std::optional<Numbers> numbers = of(operand);
    if (!numbers || (numbers->size() != count && numbers->size() != 1)) return std::nullopt;
    operands.push_back(*numbers);
  }
  return evaluate(op, operands, count);
}

}  // namespace isthmus
