// How long a kernel will take, roughly.
#include "compiler/schedule/cost.h"

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus {
namespace {

// Vector instructions for each element of 4 bytes.
double weightOf(mlir::Operation& op) {
  const OpFacts* facts = findOpFacts(&op);
  return facts ? facts->cost : 0;
}

double bytesOf(mlir::Type type) { return static_cast<double>(arrayBytes(type)); }

// Whether `op` writes a part of an array that is copied, if at all, by a stage of its own.
bool updatesInPlace(mlir::Operation* op) {
  auto isYielded = [](mlir::Operation* user) { return mlir::isa<ir::YieldOp>(user); };
  return mlir::isa<shlo::DynamicUpdateSliceOp>(op) && llvm::any_of(op->getUsers(), isYielded);
}

// Of an operand, what a kernel reads: all of it, or what slices of it have.
double bytesRead(mlir::Value argument) {
  double whole = bytesOf(argument.getType());
  double slices = 0;
  for (mlir::OpOperand& use : argument.getUses()) {
    mlir::Operation* user = use.getOwner();
    if (use.getOperandNumber() == 0 &&
        mlir::isa<shlo::DynamicSliceOp, shlo::SliceOp, shlo::GatherOp>(user)) {
      slices += bytesOf(user->getResult(0).getType());
    } else if (use.getOperandNumber() != 0 || !updatesInPlace(user)) {
      return whole;
    }
  }
  return std::min(whole, slices);
}

}  // namespace

double contractionNs(const TargetModel& target, double products) {
  return 2 * products / (target.productFlopsPerElementOp * target.elementOpsPerNs);
}

double contractionNs(const TargetModel& target, shlo::DotGeneralOp dot) {
  auto lhs = mlir::cast<mlir::RankedTensorType>(dot.getLhs().getType());
  auto result = mlir::cast<mlir::RankedTensorType>(dot.getResult().getType());
  auto products = static_cast<double>(result.getNumElements());
  for (int64_t dim : dot.getDotDimensionNumbers().getLhsContractingDimensions()) {
    products *= static_cast<double>(lhs.getDimSize(dim));
  }
  return contractionNs(target, products);
}

double arithmeticWeight(mlir::Operation* op) { return weightOf(*op); }

double bodyWeight(mlir::Operation* op) {
  constexpr double kLoopWeight = 1e6;
  double weight = 0;
  op->walk([&](mlir::Operation* nested) {
    if (nested == op) return;
    weight += mlir::isa<shlo::WhileOp>(nested) ? kLoopWeight : weightOf(*nested);
  });
  return std::max(0.0, weight - 1);
}

double costNs(const TargetModel& target, ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots) {
  double bytes = 0;
  for (mlir::Value argument : fusion.getBody().getArguments()) bytes += bytesRead(argument);
  for (mlir::Value root : roots) bytes += bytesOf(root.getType());
  double work = 0, contractions = 0;
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (updatesInPlace(&op)) continue;
    if (auto dot = mlir::dyn_cast<shlo::DotGeneralOp>(op)) {
      contractions += contractionNs(target, dot);
      continue;
    }
    double elements = 0;
    for (mlir::Type type : op.getResultTypes()) elements = std::max(elements, bytesOf(type) / 4);
    if (op.getNumRegions() > 0) {
      // Reductions and the like touch all their operands.
      for (mlir::Value operand : op.getOperands()) {
        elements = std::max(elements, bytesOf(operand.getType()) / 4);
      }
    }
    // Each element of a window's result is computed from the whole window.
    const OpFacts* facts = findOpFacts(&op);
    bool isWindow = facts != nullptr && facts->fusionClass == FusionClass::kWindow;
    double weight = isWindow ? elementCost(&op) : weightOf(op);
    if (op.getNumRegions() > 0) weight += bodyWeight(&op) * (isWindow ? weight / 2 : 1);
    work += weight * elements;
  }
  bool isNear = bytes <= static_cast<double>(target.cacheResidentBytes);
  return std::max(bytes / (isNear ? target.cacheBytesPerNs : target.memoryBytesPerNs),
                  work / target.elementOpsPerNs) +
         contractions;
}

}  // namespace isthmus
