// A place in a program's memory, and ordered moves between places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace isthmus {

struct Location {
  enum class Space { kNone, kParameter, kResult, kConstant, kArena, kStack };
  Space space = Space::kNone;
  int index = 0;       // of the parameter, result, constant or stack slot
  int64_t offset = 0;  // in the arena
  int64_t bytes = 0;

  bool operator==(const Location&) const = default;
  bool isSamePlace(const Location& other) const {
    return space == other.space && index == other.index && offset == other.offset;
  }
  bool overlaps(const Location& other) const;
  // "parameter 0", "arena[128+64]".
  std::string toString() const;
};

struct Move {
  Location to;
  Location from;
  bool isSwap = false;  // exchanges both instead of copying
  bool isLast = false;  // nobody reads `from` afterwards
};

// Orders moves that happen at once (each place is written at most once; places are equal or
// disjoint) into a sequence with the same effect: swaps break cycles.
std::vector<Move> orderMoves(std::vector<Move> moves);

}  // namespace isthmus
