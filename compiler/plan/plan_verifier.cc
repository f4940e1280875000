// Checks a memory plan pair by pair, without the data structures that made it.
#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

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

// In memory order, so that what overlaps is together: programs have parameters and results by the
// ten thousand.
bool isBefore(const Location& a, const Location& b) { return a.place() < b.place(); }

Status overlapError(const Location& to, const Location& other) {
  return internalError("memory plan: move to ", to.toString(), " overlaps ", other.toString());
}

Status checkMoves(const std::vector<Move>& moves) {
  std::vector<Location> written;
  for (const Move& move : moves) {
    if (move.to.space == Location::Space::kConstant) {
      return internalError("memory plan: a move writes ", move.to.toString());
    }
    written.push_back(move.to);
  }
  std::sort(written.begin(), written.end(), isBefore);
  for (size_t i = 0; i < written.size(); ++i) {
    for (size_t j = i + 1; j < written.size() && written[i].overlaps(written[j]); ++j) {
      if (!written[i].isSamePlace(written[j])) return overlapError(written[i], written[j]);
    }
  }
  for (const Move& move : moves) {
    // Of the places before it, which are apart or the same, only the last can reach into it.
    auto after = std::lower_bound(written.begin(), written.end(), move.from, isBefore);
    for (auto it = after; it != written.begin() && std::prev(it)->isSamePlace(*std::prev(after));
         --it) {
      if (std::prev(it)->overlaps(move.from)) return overlapError(*std::prev(it), move.from);
    }
    for (auto it = after; it != written.end() && it->overlaps(move.from); ++it) {
      if (!it->isSamePlace(move.from)) return overlapError(*it, move.from);
    }
  }
  return {};
}

}  // namespace

Status verifyPlan(const MemoryPlan& plan, const PlanOptions& options) {
  const Liveness& liveness = plan.liveness();
  const std::vector<LiveArray>& arrays = liveness.arrays();
  std::vector<Location> places;
  places.reserve(arrays.size());
  for (size_t a = 0; a < arrays.size(); ++a) {
    Location place = places.emplace_back(plan.locate(arrays[a].value));
    if (place.space == Location::Space::kNone || place.bytes < arrays[a].bytes) {
      return internalError("memory plan: array ", a, " has no room");
    }
    bool isKept = place.space == Location::Space::kParameter &&
                  options.parameters[place.index].aliasedResult < 0 &&
                  !options.parameters[place.index].isDonated;
    bool isWritten = arrays[a].origin != LiveArray::Origin::kParameter &&
                     arrays[a].origin != LiveArray::Origin::kConstant;
    if (isWritten && (isKept || place.space == Location::Space::kConstant)) {
      return internalError("memory plan: array ", a, " would overwrite ", place.toString());
    }
  }
  std::vector<size_t> inMemory(arrays.size());
  std::iota(inMemory.begin(), inMemory.end(), 0);
  std::sort(inMemory.begin(), inMemory.end(), [&](size_t a, size_t b) {
    return std::pair(places[a].place(), a) < std::pair(places[b].place(), b);
  });
  for (size_t i = 0; i < inMemory.size(); ++i) {
    size_t a = inMemory[i];
    for (size_t j = i + 1; j < inMemory.size() && places[a].overlaps(places[inMemory[j]]); ++j) {
      size_t b = inMemory[j];
      for (Lifetime x : arrays[a].lifetimes) {
        for (Lifetime y : arrays[b].lifetimes) {
          if (!intersect(x, y) || isInPlace(liveness, options, a, b, x, y) ||
              isInPlace(liveness, options, b, a, y, x)) {
            continue;
          }
          return internalError("memory plan: arrays ", a, " and ", b, " are alive together in ",
                               places[a].toString(), "\n", plan.toString());
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
