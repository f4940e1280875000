#include "compiler/cost/private_copies.h"

#include <algorithm>

#include "compiler/dialect/array_shape.h"
#include "compiler/dialect/combiner.h"
#include "compiler/target/element_kind.h"

namespace isthmus {
namespace {

// Whether one instruction of the device applies `combiner` to an element in memory.
bool isInstruction(mlir::Operation* combiner, const ElementKind& kind, const TargetModel& target) {
  if (!combiner || kind.bits < 32 || 8 * kind.storageBytes > target.atomicBits) return false;
  if (kind.isFloat()) {
    return mlir::isa<shlo::AddOp>(combiner) &&
           target.atomicFloats >= TargetModel::AtomicFloats::kF32AndF64;
  }
  return kind.isInteger() &&
         mlir::isa<shlo::AddOp, shlo::AndOp, shlo::OrOp, shlo::XorOp, shlo::MaxOp, shlo::MinOp>(
             combiner);
}

}  // namespace

int64_t privateCopies(shlo::ScatterOp scatter, const TargetModel& target) {
  // Several groups have room beside each other.
  constexpr int64_t kGroups = 2;
  if (!target.hasGroups() || scatter.getInputs().size() != 1 || scatter.getUniqueIndices()) {
    return 0;
  }
  auto type = tensorTypeOf(scatter.getInputs()[0]), updates = tensorTypeOf(scatter.getUpdates()[0]);
  std::optional<ElementKind> kind = elementKind(type.getElementType());
  if (!kind || !type.hasStaticShape() || !updates.hasStaticShape() || type.getNumElements() == 0 ||
      !isInstruction(soleOperation(scatter.getUpdateComputation()), *kind, target)) {
    return 0;
  }
  const int64_t elements = type.getNumElements(), count = updates.getNumElements();
  if (elements > target.localBytes / kGroups / kind->storageBytes ||
      count < target.minParallelUpdates) {
    return 0;
  }
  // To fill a copy and to apply it must not be felt beside its updates.
  const int64_t copies =
      std::min(target.enoughRows, count / target.minUpdatesPerElement / elements);
  return copies < 2 ? 0 : copies;
}

}  // namespace isthmus
