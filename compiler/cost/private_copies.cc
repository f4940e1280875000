#include "compiler/cost/private_copies.h"

#include <algorithm>

#include "compiler/dialect/facts/combiner.h"
#include "compiler/dialect/types/array_shape.h"
#include "compiler/target/element_kind.h"

namespace isthmus {
namespace {

// Whether a copy can begin with a value that changes nothing, and one instruction of the device
// applies `combiner` to an element in memory: of integers each that has such a value, but products.
bool isInstruction(mlir::Operation* combiner, const ElementKind& kind, const TargetModel& target) {
  const Neutral neutral = neutralOf(combiner);
  if (kind.bits < 32 || 8 * kind.storageBytes > target.atomicBits) return false;
  if (kind.isFloat()) {
    return neutral == Neutral::kZero &&
           target.atomicFloats >= TargetModel::AtomicFloats::kF32AndF64;
  }
  return kind.isInteger() && neutral != Neutral::kNone && neutral != Neutral::kOne;
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
