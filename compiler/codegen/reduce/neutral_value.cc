// Values that a reducer leaves unchanged.
#include <limits>

#include "compiler/codegen/reduce/reduction.h"
#include "compiler/dialect/facts/combiner.h"

namespace isthmus::codegen {
namespace {

llvm::Constant* neutralFloat(Neutral neutral, llvm::Type* type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (neutral) {
    case Neutral::kZero:
      return llvm::ConstantFP::get(type, -0.0);  // +0 would turn a sum of -0 into itself
    case Neutral::kOne:
      return llvm::ConstantFP::get(type, 1.0);
    case Neutral::kLowest:
      return llvm::ConstantFP::get(type, -kInfinity);
    case Neutral::kHighest:
      return llvm::ConstantFP::get(type, kInfinity);
    case Neutral::kAllOnes:
    case Neutral::kNone:
      return nullptr;
  }
  return nullptr;
}

// Integers narrower than a byte are kept extended: their limits are those of the narrow type.
std::optional<llvm::APInt> neutralInteger(Neutral neutral, const ElementKind& kind,
                                          unsigned width) {
  bool isSigned = kind.isSigned && !kind.isBool();
  unsigned bits = kind.isSubByte() ? kind.bits : width;
  llvm::APInt lowest =
      isSigned ? llvm::APInt::getSignedMinValue(bits).sext(width) : llvm::APInt::getZero(width);
  llvm::APInt highest = isSigned ? llvm::APInt::getSignedMaxValue(bits).sext(width)
                                 : llvm::APInt::getAllOnes(bits).zext(width);
  switch (neutral) {
    case Neutral::kZero:
      return llvm::APInt::getZero(width);
    case Neutral::kOne:
      return llvm::APInt(width, 1);
    case Neutral::kLowest:
      return lowest;
    case Neutral::kHighest:
      return highest;
    case Neutral::kAllOnes:
      return isSigned ? llvm::APInt::getAllOnes(width) : highest;
    case Neutral::kNone:
      return std::nullopt;
  }
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
  const Neutral neutral = neutralOf(soleOperation(reducer));
  llvm::Type* type = kind.computeType(loops.context());
  llvm::Constant* value = nullptr;
  if (kind.isFloat()) {
    value = neutralFloat(neutral, type);
  } else if (auto integer = neutralInteger(neutral, kind, type->getIntegerBitWidth())) {
    value = llvm::ConstantInt::get(type, *integer);
  }
  if (!value) return std::nullopt;
  return Val{value, nullptr, loops.entry()};
}

}  // namespace isthmus::codegen
