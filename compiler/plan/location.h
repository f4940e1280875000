// A place in a program's memory, and ordered moves between places.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace isthmus {

struct Location {
  enum class Space { kNone, kParameter, kResult, kConstant, kArena, kStack };
  Space space = Space::kNone;
  int index = 0;       // of the parameter, result, constant or stack slot
  int64_t offset = 0;  // in the arena
  int64_t bytes = 0;

  bool operator==(const Location&) const = default;
  // Where it begins. In the order of places, those that overlap are together.
  using Place = std::tuple<Space, int, int64_t>;
  Place place() const { return {space, index, offset}; }
  bool isSamePlace(const Location& other) const { return place() == other.place(); }
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
