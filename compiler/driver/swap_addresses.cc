#include "compiler/driver/swap_addresses.h"

#include <algorithm>
#include <variant>

#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

// Whether any access to a part of the place is to its beginning, and to nothing else.
bool isApart(const Location& place, const Loop& loop) {
  auto isWhole = [&](const Location& other) {
    return !place.overlaps(other) || (place.isSamePlace(other) && other.bytes <= place.bytes);
  };
  auto visit = [&](const Step& step) { return forEachPlace(step, isWhole); };
  return isWhole(loop.predicate) && forEachStep(loop.condition, visit) &&
         forEachStep(loop.body, visit);
}

bool touches(const Move& move, const Move& other) {
  return move.to.overlaps(other.to) || move.to.overlaps(other.from) ||
         move.from.overlaps(other.to) || move.from.overlaps(other.from);
}

void swapAddressesOf(Loop& loop) {
  // The moves that the body ends with.
  size_t first = loop.body.size();
  while (first > 0 && std::holds_alternative<Move>(loop.body[first - 1].what)) --first;
  auto moveAt = [&](size_t i) -> const Move& { return std::get<Move>(loop.body[i].what); };
  auto maySwap = [&](size_t i) {
    const Move& move = moveAt(i);
    if (!move.isSwap && !move.isLast) return false;
    for (size_t other = first; other < loop.body.size(); ++other) {
      if (other != i && touches(move, moveAt(other))) return false;
    }
    return move.to.bytes == move.from.bytes && isApart(move.to, loop) && isApart(move.from, loop);
  };
  std::vector<Step> rest;
  for (size_t i = first; i < loop.body.size(); ++i) {
    if (maySwap(i)) {
      loop.addressSwaps.push_back(moveAt(i));
    } else {
      rest.push_back(loop.body[i]);
    }
  }
  loop.body.resize(first);
  llvm::append_range(loop.body, rest);
}

}  // namespace

void swapAddresses(std::vector<Step>& steps) {
  for (Step& step : steps) {
    if (auto* branch = std::get_if<Branch>(&step.what)) {
      llvm::for_each(branch->branches, swapAddresses);
    } else if (auto* loop = std::get_if<Loop>(&step.what)) {
      swapAddresses(loop->condition);
      swapAddresses(loop->body);
      swapAddressesOf(*loop);
    }
  }
}

}  // namespace isthmus
