// Integers that are computed in more bits than their users keep.
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/combiner.h"
#include "compiler/passes/simplify/patterns.h"
#include "mlir/IR/IRMapping.h"

namespace isthmus {
namespace {

using mlir::LogicalResult;
using mlir::PatternRewriter;
using mlir::Value;

// Bits of an integer's type, whole bytes; 0 for all others, booleans too.
unsigned integerBits(mlir::Type type) {
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  return integer && integer.getWidth() >= 8 ? integer.getWidth() : 0;
}

unsigned integerBits(Value value) { return integerBits(mlir::getElementTypeOrSelf(value)); }

Value convertTo(PatternRewriter& rewriter, Value value, mlir::Type element) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  return shlo::ConvertOp::create(rewriter, value.getLoc(), type.clone(element), value);
}

// The low bits of sums and products are those of their operands' low bits. A sum of bytes that JAX
// computes in 32 bits and then converts back (jnp.packbits, sums with dtype=) is one of bytes.
LogicalResult reduceInKeptBits(shlo::ConvertOp op, PatternRewriter& rewriter) {
  auto reduce = op.getOperand().getDefiningOp<shlo::ReduceOp>();
  if (!reduce || !reduce->hasOneUse() || reduce.getInputs().size() != 1) return mlir::failure();
  const unsigned bits = integerBits(op.getResult());
  if (bits == 0 || bits >= integerBits(op.getOperand())) return mlir::failure();
  auto widened = reduce.getInputs()[0].getDefiningOp<shlo::ConvertOp>();
  if (!widened || integerBits(reduce.getInputs()[0]) == 0) return mlir::failure();
  const unsigned held = integerBits(widened.getOperand());
  if (held == 0 || held > bits) return mlir::failure();
  mlir::Operation* combiner = soleOperation(reduce.getBody());
  if (!llvm::isa_and_nonnull<shlo::AddOp, shlo::MulOp>(combiner)) return mlir::failure();
  // The accumulator may be wider than the operand.
  if (integerBits(combiner->getResult(0)) < bits) return mlir::failure();

  mlir::Type element = mlir::getElementTypeOrSelf(op.getType());
  Value input = convertTo(rewriter, widened.getOperand(), element);
  Value init = convertTo(rewriter, reduce.getInitValues()[0], element);
  auto narrow = shlo::ReduceOp::create(rewriter, reduce.getLoc(), mlir::TypeRange{op.getType()},
                                       mlir::ValueRange{input}, mlir::ValueRange{init},
                                       reduce.getDimensions());
  if (llvm::isa<shlo::AddOp>(combiner)) {
    fillWith<shlo::AddOp>(rewriter, narrow.getBody(), element, reduce.getLoc());
  } else {
    fillWith<shlo::MulOp>(rewriter, narrow.getBody(), element, reduce.getLoc());
  }
  rewriter.replaceOp(op, narrow->getResults());
  return mlir::success();
}

}  // namespace

void addNarrowingPatterns(mlir::RewritePatternSet& patterns) { patterns.add(reduceInKeptBits); }

}  // namespace isthmus
