// Values that a reducer leaves unchanged.
#include <limits>

#include "compiler/codegen/reduce/reduction.h"
#include "compiler/dialect/combiner.h"

namespace isthmus::codegen {
namespace {

llvm::Constant* neutralFloat(mlir::Operation* op, llvm::Type* type) {
  double infinity = std::numeric_limits<double>::infinity();
  // Not 0: that would turn a sum of -0 into +0.
  if (mlir::isa<shlo::AddOp>(op)) return llvm::ConstantFP::get(type, -0.0);
  if (mlir::isa<shlo::MulOp>(op)) return llvm::ConstantFP::get(type, 1.0);
  if (mlir::isa<shlo::MaxOp>(op)) return llvm::ConstantFP::get(type, -infinity);
  if (mlir::isa<shlo::MinOp>(op)) return llvm::ConstantFP::get(type, infinity);
  return nullptr;
}

// Integers narrower than a byte are kept extended: their limits are those of the narrow type.
std::optional<llvm::APInt> neutralInteger(mlir::Operation* op, const ElementKind& kind,
                                          unsigned width) {
  bool isSigned = kind.isSigned && !kind.isBool();
  unsigned bits = kind.isSubByte() ? kind.bits : width;
  llvm::APInt lowest =
      isSigned ? llvm::APInt::getSignedMinValue(bits).sext(width) : llvm::APInt::getZero(width);
  llvm::APInt highest = isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(width)
                                 : llvm::APInt::getAllOnes(bits).zext(width);
  if (mlir::isa<shlo::AddOp, shlo::OrOp, shlo::XorOp>(op)) return llvm::APInt::getZero(width);
  if (mlir::isa<shlo::AndOp>(op)) return isSigned ? llvm::APInt::getAllOnes(width) : highest;
  if (mlir::isa<shlo::MulOp>(op)) return llvm::APInt(width, 1);
  if (mlir::isa<shlo::MaxOp>(op)) return lowest;
  if (mlir::isa<shlo::MinOp>(op)) return highest;
  return std::nullopt;
}

}  // namespace

std::optional<Val> neutralValueOf(shlo::ReduceOp reduce, LoopBuilder& loops, Evaluator& evaluator) {
  if (reduce.getInputs().size() != 1) return std::nullopt;
  return neutralValueOf(reduce.getBody(), evaluator.kindOf(reduce.getInputs()[0]), loops);
}

std::optional<Val> neutralValueOf(mlir::Region& reducer, const ElementKind& kind,
                                  LoopBuilder& loops) {
  if (!hasNeutralValue(reducer, kind)) return std::nullopt;
  mlir::Operation* op = soleOperation(reducer);
  llvm::Type* type = kind.computeType(loops.context());
  llvm::Constant* value = nullptr;
  if (kind.isFloat()) {
    value = neutralFloat(op, type);
  } else if (auto integer = neutralInteger(op, kind, type->getIntegerBitWidth())) {
    value = llvm::ConstantInt::get(type, *integer);
  }
  if (!value) return std::nullopt;
  return Val{value, nullptr, loops.entry()};
}

}  // namespace isthmus::codegen
