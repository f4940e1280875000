#include "compiler/dialect/facts/trip_count.h"

#include "compiler/dialect/isthmus.h"

namespace isthmus {
namespace {

// What computes `value`, seen through the borders of kernels.
mlir::Value resolve(mlir::Value value) {
  for (;;) {
    if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
      auto fusion = llvm::dyn_cast<ir::FusionOp>(argument.getOwner()->getParentOp());
      if (!fusion) return value;
      value = fusion.getOperand(argument.getArgNumber());
      continue;
    }
    mlir::Operation* op = value.getDefiningOp();
    if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
      value = fusion.getBody().front().getTerminator()->getOperand(
          llvm::cast<mlir::OpResult>(value).getResultNumber());
    } else if (llvm::isa<shlo::ReshapeOp>(op)) {
      value = op->getOperand(0);
    } else {
      return value;
    }
  }
}

std::optional<int64_t> constantOf(mlir::Value value) {
  mlir::DenseElementsAttr elements;
  auto constant = resolve(value).getDefiningOp<shlo::ConstantOp>();
  if (!constant) return std::nullopt;
  elements = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!elements || !elements.isSplat() || !elements.getElementType().isInteger()) {
    return std::nullopt;
  }
  llvm::APInt number = elements.getSplatValue<llvm::APInt>();
  if (number.getBitWidth() > 64) return std::nullopt;
  return elements.getElementType().isUnsignedInteger() ? static_cast<int64_t>(number.getZExtValue())
                                                       : number.getSExtValue();
}

}  // namespace

std::optional<int64_t> tripCount(shlo::WhileOp loop) {
  mlir::Block& condition = loop.getCond().front();
  mlir::Block& body = loop.getBody().front();
  auto compare = resolve(condition.getTerminator()->getOperand(0)).getDefiningOp<shlo::CompareOp>();
  if (!compare || compare.getComparisonDirection() != shlo::ComparisonDirection::LT) {
    return std::nullopt;
  }
  auto counter = llvm::dyn_cast<mlir::BlockArgument>(resolve(compare.getLhs()));
  std::optional<int64_t> limit = constantOf(compare.getRhs());
  if (!limit && counter) {
    // The limit may be carried along unchanged.
    if (auto carried = llvm::dyn_cast<mlir::BlockArgument>(resolve(compare.getRhs()));
        carried && carried.getOwner() == &condition) {
      unsigned i = carried.getArgNumber();
      if (resolve(body.getTerminator()->getOperand(i)) == body.getArgument(i)) {
        limit = constantOf(loop->getOperand(i));
      }
    }
  }
  if (!counter || counter.getOwner() != &condition || !limit) return std::nullopt;
  unsigned i = counter.getArgNumber();
  std::optional<int64_t> begin = constantOf(loop->getOperand(i));
  auto next = resolve(body.getTerminator()->getOperand(i)).getDefiningOp<shlo::AddOp>();
  if (!begin || !next) return std::nullopt;
  std::optional<int64_t> step;
  for (unsigned operand : {0u, 1u}) {
    if (resolve(next->getOperand(operand)) == body.getArgument(i)) {
      step = constantOf(next->getOperand(1 - operand));
    }
  }
  if (!step || *step <= 0) return std::nullopt;
  auto type = llvm::dyn_cast<mlir::IntegerType>(
      llvm::cast<mlir::RankedTensorType>(counter.getType()).getElementType());
  // Unsigned numbers of 64 bits above the largest signed one are negative here.
  if (!type || type.getWidth() < 2 || (type.isUnsigned() && (*limit < 0 || *begin < 0))) {
    return std::nullopt;
  }
  if (*limit <= *begin) return 0;
  // As unsigned numbers the difference of any two is exact.
  uint64_t distance = static_cast<uint64_t>(*limit) - static_cast<uint64_t>(*begin);
  uint64_t rounds = (distance - 1) / static_cast<uint64_t>(*step) + 1;
  // A counter that wraps around goes on counting.
  unsigned bits = type.getWidth() - (type.isUnsigned() ? 0 : 1);
  uint64_t largest = ~uint64_t{0} >> (64 - bits);
  uint64_t beyond = rounds * static_cast<uint64_t>(*step) - distance;
  if (rounds > largest || beyond > largest - static_cast<uint64_t>(*limit)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(rounds);
}

}  // namespace isthmus
