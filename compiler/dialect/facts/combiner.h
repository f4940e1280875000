// Regions that combine two numbers: of reductions, scatters and collectives.
#pragma once

#include <complex>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "llvm/ADT/STLExtras.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

namespace isthmus {

// The operation that the region applies to its two arguments, in either order, to return what that
// gives; null if the region does anything else.
inline mlir::Operation* soleOperation(mlir::Region& combiner) {
  mlir::Block& block = combiner.front();
  mlir::Operation* end = block.getTerminator();
  if (block.getNumArguments() != 2 || end->getNumOperands() != 1) return nullptr;
  mlir::Operation* op = end->getOperand(0).getDefiningOp();
  bool isOfArguments = op && op->getBlock() == &block && op->getNumOperands() == 2 &&
                       op->getOperand(0) != op->getOperand(1) &&
                       llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
                         return llvm::is_contained(block.getArguments(), operand);
                       });
  return isOfArguments ? op : nullptr;
}

// Whether `value` is a constant of complex numbers that are all `real` + 0i.
inline bool isComplex(mlir::Value value, double real) {
  mlir::DenseElementsAttr elements;
  if (!mlir::matchPattern(value, mlir::m_Constant(&elements)) || !elements.isSplat()) return false;
  auto type = llvm::dyn_cast<mlir::ComplexType>(elements.getElementType());
  if (!type || !llvm::isa<mlir::FloatType>(type.getElementType())) return false;
  auto number = elements.getSplatValue<std::complex<llvm::APFloat>>();
  return number.real().convertToDouble() == real && number.imag().isZero();
}

// Constants all of whose elements are 0 (of either sign), or 1.
inline bool isZero(mlir::Value value) {
  return mlir::matchPattern(value, mlir::m_Zero()) ||
         mlir::matchPattern(value, mlir::m_AnyZeroFloat()) || isComplex(value, 0);
}
inline bool isOne(mlir::Value value) {
  return mlir::matchPattern(value, mlir::m_One()) ||
         mlir::matchPattern(value, mlir::m_OneFloat()) || isComplex(value, 1);
}

// The number that `combiner`, an operation on two, leaves others unchanged by; kNone of null.
inline Neutral neutralOf(mlir::Operation* combiner) {
  const OpFacts* facts = combiner ? findOpFacts(combiner) : nullptr;
  return facts ? facts->neutral : Neutral::kNone;
}

// Whether a number combined with itself by `combiner` is that number.
inline bool isIdempotent(mlir::Operation* combiner) {
  const OpFacts* facts = combiner ? findOpFacts(combiner) : nullptr;
  return facts && facts->isIdempotent;
}

// Whether `combiner` gives a number itself when it is combined with `init`, or sees `init` as often
// as it likes.
inline bool isNeutral(mlir::Operation* combiner, mlir::Value init) {
  if (!combiner || isIdempotent(combiner)) return combiner != nullptr;
  // JAX spreads scalars to scalars, and converts them to the type that they have.
  while (mlir::Operation* op = init.getDefiningOp()) {
    if (!llvm::isa<shlo::BroadcastInDimOp, shlo::ConvertOp>(op)) break;
    init = op->getOperand(0);
  }
  return (neutralOf(combiner) == Neutral::kZero && isZero(init)) ||
         (neutralOf(combiner) == Neutral::kOne && isOne(init));
}

// Makes an empty region one that combines two scalars of the type `element` by `Op`.
template <typename Op>
void fillWith(mlir::OpBuilder& builder, mlir::Region& combiner, mlir::Type element,
              mlir::Location location) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  auto scalar = mlir::RankedTensorType::get({}, element);
  mlir::Block* block = builder.createBlock(&combiner, {}, {scalar, scalar}, {location, location});
  mlir::Value result =
      Op::create(builder, location, scalar, block->getArgument(0), block->getArgument(1));
  shlo::ReturnOp::create(builder, location, mlir::ValueRange{result});
}

}  // namespace isthmus
