#include "compiler/passes/simplify/match.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/types/array_shape.h"

namespace isthmus {

mlir::DenseElementsAttr constantSplat(mlir::Value value) {
  while (mlir::Operation* op = value.getDefiningOp()) {
    if (auto constant = llvm::dyn_cast<shlo::ConstantOp>(op)) {
      auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
      return dense && dense.isSplat() ? dense : mlir::DenseElementsAttr();
    }
    if (!llvm::isa<shlo::BroadcastInDimOp, shlo::ReshapeOp>(op)) break;
    value = op->getOperand(0);
  }
  return {};
}

bool hasFixedShape(mlir::Value value) {
  return isStaticArray(value) && !tensorTypeOf(value).getEncoding();
}

bool isSplatOf(mlir::Value value, double number) {
  mlir::DenseElementsAttr splat = constantSplat(value);
  if (!splat) return false;
  mlir::Type type = splat.getElementType();
  if (llvm::isa<mlir::FloatType>(type)) {
    auto element = splat.getSplatValue<llvm::APFloat>();
    bool loses = false;
    llvm::APFloat wide = element;
    wide.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    return !loses && wide.compare(llvm::APFloat(number)) == llvm::APFloat::cmpEqual;
  }
  if (llvm::isa<mlir::IntegerType>(type)) {
    auto element = splat.getSplatValue<llvm::APInt>();
    if (type.isInteger(1)) return number == (element.getBoolValue() ? 1 : 0);
    if (element.getBitWidth() > 64) return false;
    return type.isUnsignedInteger() ? static_cast<double>(element.getZExtValue()) == number
                                    : static_cast<double>(element.getSExtValue()) == number;
  }
  return false;
}

bool isPositiveZero(mlir::Value value) {
  mlir::DenseElementsAttr splat = constantSplat(value);
  if (!splat) return false;
  if (llvm::isa<mlir::FloatType>(splat.getElementType())) {
    return splat.getSplatValue<llvm::APFloat>().isPosZero();
  }
  return isSplatOf(value, 0);
}

std::optional<llvm::SmallVector<int64_t>> constantIntegers(mlir::Value value) {
  auto constant = value.getDefiningOp<shlo::ConstantOp>();
  if (!constant) return std::nullopt;
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!dense || !llvm::isa<mlir::IntegerType>(dense.getElementType())) return std::nullopt;
  llvm::SmallVector<int64_t> numbers;
  bool isUnsigned = dense.getElementType().isUnsignedInteger();
  for (const llvm::APInt& element : dense.getValues<llvm::APInt>()) {
    if (element.getBitWidth() > 64) return std::nullopt;
    numbers.push_back(isUnsigned ? static_cast<int64_t>(element.getZExtValue())
                                 : element.getSExtValue());
  }
  return numbers;
}

}  // namespace isthmus
