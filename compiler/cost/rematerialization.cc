#include "compiler/cost/rematerialization.h"

#include "compiler/cost/op_cost.h"
#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"

namespace isthmus {
namespace {

// Constants up to this many elements live in the kernels that use them.
constexpr int64_t kSmallConstantElements = 16;
constexpr int kMaxDepth = 4;

bool isSmallConstant(mlir::Operation* op) {
  auto constant = llvm::dyn_cast<shlo::ConstantOp>(op);
  if (!constant) return false;
  return constant.getValue().isSplat() ||
         constant.getValue().getNumElements() <= kSmallConstantElements;
}

// Whether the value takes no more of memory than a number: splats, iota, and what is made of them.
bool readsNoArray(mlir::Value value) {
  mlir::Operation* op = value.getDefiningOp();
  while (op && llvm::isa<shlo::ReshapeOp>(op)) op = op->getOperand(0).getDefiningOp();
  if (!op || llvm::isa<shlo::SliceOp>(op)) return false;
  return !llvm::isa<shlo::BroadcastInDimOp>(op) || elementCount(op->getOperand(0).getType()) == 1;
}

bool isCheapWithin(mlir::Operation* op, int depth) {
  if (isSmallConstant(op)) return true;
  if (llvm::isa<shlo::IotaOp, shlo::BroadcastInDimOp>(op)) return true;
  if (auto slice = llvm::dyn_cast<shlo::SliceOp>(op)) {
    // Strided reads are slow enough to be done once.
    return llvm::all_of(slice.getStrides(), [](int64_t stride) { return stride == 1; });
  }
  if (auto reshape = llvm::dyn_cast<shlo::ReshapeOp>(op)) {
    return elementCount(reshape.getType()) > 0 &&
           squeezedShape(reshape.getOperand().getType()) == squeezedShape(reshape.getType());
  }
  if (depth == 0 || fusionClass(op) != FusionClass::kElementwise || elementCost(op) > 1) {
    return false;
  }
  return llvm::all_of(op->getOperands(), [&](mlir::Value operand) {
    return readsNoArray(operand) && isCheapWithin(operand.getDefiningOp(), depth - 1);
  });
}

// Booleans are read faster than two numbers each.
bool isWorthRecomputing(mlir::Type type, const TargetModel& target) {
  return elementBytes(type) >= 4 &&
         elementCount(type) * elementBytes(type) >= target.minRecomputedBytes;
}

// How many elements of arrays cheap elementwise work on broadcasts of them reads, each once; -1 if
// it is no such work.
int64_t elementsRead(mlir::Operation* op, int depth, const TargetModel& target) {
  if (!op) return -1;
  if (auto broadcast = llvm::dyn_cast<shlo::BroadcastInDimOp>(op)) {
    return elementCount(broadcast.getOperand().getType());
  }
  if (depth == 0 || fusionClass(op) != FusionClass::kElementwise || elementCost(op) > 1 ||
      op->getNumResults() != 1 || !isWorthRecomputing(op->getResult(0).getType(), target)) {
    return -1;
  }
  int64_t total = 0;
  for (mlir::Value operand : op->getOperands()) {
    mlir::Operation* producer = operand.getDefiningOp();
    const bool isComputedAgain =
        producer && readsNoArray(operand) && isCheapWithin(producer, kMaxDepth);
    const int64_t read = isComputedAgain ? 0 : elementsRead(producer, depth - 1, target);
    if (read < 0) return -1;
    total += read;
  }
  return total;
}

}  // namespace

bool isRematerializable(mlir::Operation* op) { return isCheapWithin(op, kMaxDepth); }

bool isRematerializableExpansion(mlir::Operation* op, const TargetModel& target) {
  constexpr int64_t kLeastExpansion = 16;
  // Operations one after the other: each adds to what every kernel computes.
  constexpr int kMaxExpansionDepth = 2;
  if (fusionClass(op) != FusionClass::kElementwise) return false;
  const int64_t read = elementsRead(op, kMaxExpansionDepth, target);
  return read > 0 && read <= elementCount(op->getResult(0).getType()) / kLeastExpansion;
}

}  // namespace isthmus
