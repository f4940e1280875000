// Checks a memory plan pair by pair, without the data structures that made it.
#include "compiler/plan/memory_plan.h"

namespace isthmus {
namespace {

bool intersect(Lifetime a, Lifetime b) { return a.begin <= b.end && b.begin <= a.end; }

// Whether `later`'s operation may write over `earlier`, all of whose uses come no later.
bool isInPlace(const Liveness& liveness, const PlanOptions& options, int earlier, int later,
               Lifetime earlierLife, Lifetime laterLife) {
  mlir::Operation* op = liveness.arrays()[later].definition;
  if (!op || roleOf(op) != OpRole::kCompute || !options.canShare) return false;
  int64_t time = 2 * liveness.timeOf(op);
  if (laterLife.begin != time || earlierLife.begin >= time || earlierLife.end > time + 1) {
    return false;
  }
  for (mlir::OpOperand& use : op->getOpOperands()) {
    if (liveness.arrayOf(use.get()) == earlier &&
        !options.canShare(op, use.getOperandNumber(), liveness.arrays()[later].index)) {
      return false;
    }
  }
  return true;
}

Status checkMoves(const std::vector<Move>& moves) {
  for (const Move& a : moves) {
    if (a.to.space == Location::Space::kConstant) {
      return internalError("memory plan: a move writes ", a.to.toString());
    }
    for (const Location& other : {a.from, a.to}) {
      for (const Move& b : moves) {
        if (b.to.overlaps(other) && !b.to.isSamePlace(other)) {
          return internalError("memory plan: move to ", b.to.toString(), " overlaps ",
                               other.toString());
        }
      }
    }
  }
  return {};
}

}  // namespace

Status verifyPlan(const MemoryPlan& plan, const PlanOptions& options) {
  const Liveness& liveness = plan.liveness();
  const std::vector<LiveArray>& arrays = liveness.arrays();
  for (size_t a = 0; a < arrays.size(); ++a) {
    Location first = plan.locate(arrays[a].value);
    if (first.space == Location::Space::kNone || first.bytes < arrays[a].bytes) {
      return internalError("memory plan: array ", a, " has no room");
    }
    bool isKept = first.space == Location::Space::kParameter &&
                  options.parameters[first.index].aliasedResult < 0 &&
                  !options.parameters[first.index].isDonated;
    bool isWritten = arrays[a].origin != LiveArray::Origin::kParameter &&
                     arrays[a].origin != LiveArray::Origin::kConstant;
    if (isWritten && (isKept || first.space == Location::Space::kConstant)) {
      return internalError("memory plan: array ", a, " would overwrite ", first.toString());
    }
    for (size_t b = a + 1; b < arrays.size(); ++b) {
      if (!first.overlaps(plan.locate(arrays[b].value))) continue;
      for (Lifetime x : arrays[a].lifetimes) {
        for (Lifetime y : arrays[b].lifetimes) {
          if (!intersect(x, y) || isInPlace(liveness, options, a, b, x, y) ||
              isInPlace(liveness, options, b, a, y, x)) {
            continue;
          }
          return internalError("memory plan: arrays ", a, " and ", b, " are alive together in ",
                               first.toString(), "\n", plan.toString());
        }
      }
    }
  }
  for (mlir::Operation* op : liveness.operations()) {
    if (roleOf(op) == OpRole::kWhile) ISTHMUS_RETURN_IF_ERROR(checkMoves(plan.movesInto(op)));
    if (roleOf(op) == OpRole::kTerminator) ISTHMUS_RETURN_IF_ERROR(checkMoves(plan.movesAt(op)));
  }
  return {};
}

}  // namespace isthmus
