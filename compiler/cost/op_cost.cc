#include "compiler/cost/op_cost.h"

#include <algorithm>

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/target/element_kind.h"
#include "llvm/ADT/DenseMap.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

namespace isthmus {
namespace {

constexpr double kManyInstructions = 5;

// How many 4-byte lanes an element takes. Narrow floats count as they lie in memory, though they
// are computed in f32: kernels of them are done in less than half of what this says, and counted as
// f32 they get tiles so short that bf16 chains take 5 % longer.
double lanesOfElement(mlir::Type type) {
  std::optional<ElementKind> kind = elementKind(mlir::getElementTypeOrSelf(type));
  return kind ? kind->storageBytes / 4.0 : 1;
}

// Comparisons are computed in the type of their operands.
double lanesOfElement(mlir::Operation* op) {
  double lanes = lanesOfElement(op->getResult(0).getType());
  if (!mlir::getElementTypeOrSelf(op->getResult(0).getType()).isInteger(1) ||
      fusionClass(op) != FusionClass::kElementwise) {
    return lanes;
  }
  for (mlir::Type type : op->getOperandTypes()) lanes = std::max(lanes, lanesOfElement(type));
  return lanes;
}

double instructions(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  if (!facts || op->hasTrait<mlir::OpTrait::IsTerminator>()) return 0;
  // Each element of a window is read, and masked at the edges.
  if (facts->fusionClass == FusionClass::kWindow) return 2 * windowElements(op);
  if (op->getNumResults() == 0) return facts->cost;
  mlir::Type type = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  if (!type.isInteger()) return facts->cost;
  // Those of many instructions are no vector's in 64 bits.
  constexpr double kOneByOne = 4;
  const bool isOneByOne = type.isInteger(64) && facts->integerCost >= kManyInstructions;
  return facts->integerCost * (isOneByOne ? kOneByOne : 1);
}

}  // namespace

double windowElements(mlir::Operation* op) {
  double size = 1;
  if (auto extents = op->getAttrOfType<mlir::DenseI64ArrayAttr>("window_dimensions")) {
    for (int64_t extent : extents.asArrayRef()) size *= static_cast<double>(extent);
  }
  return size;
}

double elementCost(mlir::Operation* op) {
  return op->getNumResults() == 0 ? 0 : instructions(op) * lanesOfElement(op);
}

InstructionChain instructionChainOf(mlir::Block& body, int64_t elements) {
  // A chain of instructions is most of an operation that takes many.
  constexpr double kCyclesOfAddition = 4, kCyclesOfInstruction = 2;
  InstructionChain result;
  llvm::DenseMap<mlir::Operation*, double> ends;
  for (mlir::Operation& op : body) {
    double begin = 0;
    for (mlir::Value operand : op.getOperands()) {
      if (mlir::Operation* before = operand.getDefiningOp()) {
        begin = std::max(begin, ends.lookup(before));
      }
    }
    auto type = op.getNumResults() == 0
                    ? mlir::RankedTensorType()
                    : mlir::dyn_cast<mlir::RankedTensorType>(op.getResult(0).getType());
    // Fewer are computed outside of the loop.
    const bool isOfAll = type && type.getNumElements() == elements;
    double count = isOfAll ? instructions(&op) : 0;
    // Divisions of integers and the like, lane by lane: they are no vector's.
    if (isOfAll && type.getElementType().isInteger() && count >= kManyInstructions) count = 0;
    const double cycles = count > 0 ? std::max(kCyclesOfAddition, count * kCyclesOfInstruction) : 0;
    result.instructions += count;
    ends[&op] = begin + cycles;
    result.cycles = std::max(result.cycles, begin + cycles);
  }
  return result;
}

double bodyCost(mlir::Operation* op) {
  constexpr double kLoopCost = 1e6;
  double cost = 0;
  op->walk([&](mlir::Operation* nested) {
    if (nested == op) return;
    cost += mlir::isa<shlo::WhileOp>(nested) ? kLoopCost : instructions(nested);
  });
  return cost;
}

}  // namespace isthmus
