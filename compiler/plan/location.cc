// Places in memory, and the ordering of simultaneous moves.
#include "compiler/plan/location.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

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

namespace {

// The moves that are left, found by the place that they read and by the one that they write: loops
// carry arrays by the thousand.
class PendingMoves {
 public:
  explicit PendingMoves(std::vector<Move> moves) : moves_(std::move(moves)) {
    for (size_t i = 0; i < moves_.size(); ++i) {
      if (moves_[i].to.isSamePlace(moves_[i].from)) continue;
      left_.insert(i);
      readers_[moves_[i].from.place()].insert(i);
      writers_[moves_[i].to.place()] = i;
    }
    for (size_t i : left_) noteReaders(moves_[i].to.place());
  }

  // The next move of an order.
  std::optional<Move> next() {
    if (left_.empty()) return std::nullopt;
    if (!free_.empty()) {
      Move move = moves_[*free_.begin()];
      remove(*free_.begin());
      return move;
    }
    // Only cycles are left. After the swap the first is done, and what was to be read from its
    // target is where its source was.
    Move swap = moves_[*left_.begin()];
    swap.isSwap = true;
    Location::Place to = swap.to.place(), from = swap.from.place();
    std::swap(readers_[to], readers_[from]);
    for (const auto& [place, location] : {std::pair(to, swap.to), std::pair(from, swap.from)}) {
      for (size_t i : std::vector<size_t>(readers_[place].begin(), readers_[place].end())) {
        moves_[i].from = location;
        if (moves_[i].to.isSamePlace(location)) remove(i);
      }
      noteReaders(place);
    }
    return swap;
  }

 private:
  // A move is free once nobody is to read what it writes over.
  void noteReaders(const Location::Place& place) {
    auto writer = writers_.find(place);
    if (writer == writers_.end() || !left_.contains(writer->second)) return;
    auto readers = readers_.find(place);
    if (readers == readers_.end() || readers->second.empty()) {
      free_.insert(writer->second);
    } else {
      free_.erase(writer->second);
    }
  }

  void remove(size_t i) {
    left_.erase(i);
    free_.erase(i);
    Location::Place from = moves_[i].from.place();
    readers_[from].erase(i);
    noteReaders(from);
  }

  std::vector<Move> moves_;
  std::set<size_t> left_, free_;
  std::map<Location::Place, std::set<size_t>> readers_;
  std::map<Location::Place, size_t> writers_;
};

}  // namespace

std::vector<Move> orderMoves(std::vector<Move> moves) {
  PendingMoves pending(std::move(moves));
  std::vector<Move> ordered;
  while (std::optional<Move> move = pending.next()) ordered.push_back(*move);
  return ordered;
}

}  // namespace isthmus
