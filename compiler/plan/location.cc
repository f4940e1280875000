// Places in memory, and the ordering of simultaneous moves.
#include "compiler/plan/location.h"

#include <algorithm>

namespace isthmus {

bool Location::overlaps(const Location& other) const {
  if (space == Space::kNone || space != other.space || index != other.index) return false;
  return offset < other.offset + other.bytes && other.offset < offset + bytes;
}

std::string Location::toString() const {
  switch (space) {
    case Space::kNone:
      return "nothing";
    case Space::kParameter:
      return "parameter " + std::to_string(index);
    case Space::kResult:
      return "result " + std::to_string(index);
    case Space::kConstant:
      return "constant " + std::to_string(index);
    case Space::kArena:
      return "arena[" + std::to_string(offset) + "+" + std::to_string(bytes) + "]";
    case Space::kStack:
      return "stack " + std::to_string(index);
  }
  return "";
}

std::vector<Move> orderMoves(std::vector<Move> moves) {
  std::vector<Move> ordered;
  auto dropDone = [&] {
    std::erase_if(moves, [](const Move& move) { return move.to.isSamePlace(move.from); });
  };
  dropDone();
  while (!moves.empty()) {
    auto isNeeded = [&](const Move& candidate) {
      return std::any_of(moves.begin(), moves.end(),
                         [&](const Move& move) { return move.from.isSamePlace(candidate.to); });
    };
    auto free = std::find_if_not(moves.begin(), moves.end(), isNeeded);
    if (free != moves.end()) {
      ordered.push_back(*free);
      moves.erase(free);
      continue;
    }
    // Only cycles are left. After the swap the first is done, and what was to be read from its
    // target is where its source was.
    Move swap = moves.front();
    swap.isSwap = true;
    ordered.push_back(swap);
    for (Move& move : moves) {
      if (move.from.isSamePlace(swap.to)) {
        move.from = swap.from;
      } else if (move.from.isSamePlace(swap.from)) {
        move.from = swap.to;
      }
    }
    dropDone();
  }
  return ordered;
}

}  // namespace isthmus
