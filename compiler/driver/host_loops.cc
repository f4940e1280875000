#include "compiler/driver/host_loops.h"

#include <algorithm>
#include <variant>

#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

bool isOfHost(const Loop& loop) {
  bool callsHost = false;
  auto isOfHostStep = [&](const Step& step) {
    callsHost |= std::holds_alternative<HostCall>(step.what);
    return !std::holds_alternative<KernelLaunch>(step.what) &&
           !std::holds_alternative<LibraryCall>(step.what);
  };
  return forEachStep(loop.condition, isOfHostStep) && forEachStep(loop.body, isOfHostStep) &&
         callsHost;
}

// Each beginning once, with the most bytes that a step accesses there.
std::vector<Location> locationsOf(const Loop& loop) {
  std::vector<Location> places;
  auto add = [&](const Location& place) {
    if (place.space == Location::Space::kNone) return true;
    auto same = llvm::find_if(places, [&](const Location& p) { return p.isSamePlace(place); });
    if (same == places.end()) {
      places.push_back(place);
    } else {
      same->bytes = std::max(same->bytes, place.bytes);
    }
    return true;
  };
  auto visit = [&](const Step& step) { return forEachPlace(step, add); };
  add(loop.predicate);
  for (const Move& move : loop.addressSwaps) {
    add(move.to);
    add(move.from);
  }
  forEachStep(loop.condition, visit);
  forEachStep(loop.body, visit);
  return places;
}

}  // namespace

Status addHostLoops(std::vector<Step>& steps, llvm::function_ref<StatusOr<int>(const Loop&)> add) {
  for (Step& step : steps) {
    if (auto* branch = std::get_if<Branch>(&step.what)) {
      for (std::vector<Step>& inner : branch->branches) {
        ISTHMUS_RETURN_IF_ERROR(addHostLoops(inner, add));
      }
    }
    auto* loop = std::get_if<Loop>(&step.what);
    if (!loop) continue;
    if (isOfHost(*loop)) {
      loop->onHost.inputs = locationsOf(*loop);
      ISTHMUS_ASSIGN_OR_RETURN(loop->onHost.function, add(*loop));
      continue;
    }
    ISTHMUS_RETURN_IF_ERROR(addHostLoops(loop->condition, add));
    ISTHMUS_RETURN_IF_ERROR(addHostLoops(loop->body, add));
  }
  return {};
}

}  // namespace isthmus
