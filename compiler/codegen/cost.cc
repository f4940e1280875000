// How long a kernel will take, roughly.
#include "compiler/codegen/cost.h"

#include "compiler/codegen/types.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::codegen {
namespace {

// Vector instructions per element of a 4-byte type, about.
double weightOf(llvm::StringRef name) {
  return llvm::StringSwitch<double>(name)
      .Cases({"stablehlo.exponential", "stablehlo.exponential_minus_one", "stablehlo.log",
              "stablehlo.log_plus_one", "stablehlo.logistic"},
             20)
      .Cases({"stablehlo.tanh", "stablehlo.sine", "stablehlo.cosine", "chlo.erf"}, 35)
      .Cases({"stablehlo.tan", "stablehlo.atan2", "stablehlo.cbrt"}, 50)
      .Cases({"stablehlo.power", "stablehlo.remainder"}, 90)
      .Cases({"stablehlo.divide", "stablehlo.sqrt", "stablehlo.rsqrt"}, 5)
      .Cases({"stablehlo.constant", "stablehlo.reshape", "stablehlo.broadcast_in_dim",
              "stablehlo.return", "isthmus.yield"},
             0)
      .Cases({"stablehlo.gather", "stablehlo.scatter"}, 10)
      .Case("stablehlo.transpose", 4)
      .Default(1);
}

double bytesOf(mlir::Type type) {
  auto array = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!array || !array.hasStaticShape()) return 0;
  auto kind = elementKind(array.getElementType());
  return kind ? static_cast<double>(array.getNumElements()) * kind->storageBytes : 0;
}

// Whether `op` writes a part of an array that is copied, if at all, by a stage of its own.
bool updatesInPlace(mlir::Operation* op) {
  auto fusion = mlir::dyn_cast<ir::FusionOp>(op->getParentOp());
  return fusion && fusion.getKind() == ir::FusionKind::kUpdateSlice &&
         mlir::isa<shlo::DynamicUpdateSliceOp>(op);
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

double arithmeticWeight(mlir::Operation* op) { return weightOf(op->getName().getStringRef()); }

double costNs(ir::FusionOp fusion, llvm::ArrayRef<mlir::Value> roots) {
  double bytes = 0;
  for (mlir::Value argument : fusion.getBody().getArguments()) bytes += bytesRead(argument);
  for (mlir::Value root : roots) bytes += bytesOf(root.getType());
  double work = 0;
  for (mlir::Operation& op : fusion.getBody().front()) {
    if (updatesInPlace(&op)) continue;
    double elements = 0;
    for (mlir::Type type : op.getResultTypes()) elements = std::max(elements, bytesOf(type) / 4);
    if (op.getNumRegions() > 0) {
      // Reductions and the like touch all their operands.
      for (mlir::Value operand : op.getOperands()) {
        elements = std::max(elements, bytesOf(operand.getType()) / 4);
      }
    }
    work += weightOf(op.getName().getStringRef()) * elements;
  }
  // A nanosecond: 16 weighted elements; 10 bytes from memory, 40 from the core's own cache.
  constexpr double kNearBytes = 1 << 20;
  return std::max(bytes / (bytes <= kNearBytes ? 40 : 10), work / 16);
}

}  // namespace isthmus::codegen
