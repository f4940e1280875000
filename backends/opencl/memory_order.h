// Which commands of a run have to wait for which, by the memory that they read and write.
//
// Addresses decide, not the plan's places: a parameter and a result that share memory, and loops
// whose rounds do, need no care of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace isthmus::opencl {

struct MemoryRange {
  const void* data = nullptr;
  int64_t bytes = 0;
};

// On one thread.
class MemoryOrder {
 public:
  using Command = int64_t;
  // `isOver` says that a command need not be waited for any more; once true of one, it stays so.
  explicit MemoryOrder(std::function<bool(Command)> isOver) : isOver_(std::move(isOver)) {}

  // Notes `command`, and returns the commands before it that it has to wait for, each once: those
  // that wrote what it reads or writes, and that read what it writes. Not all of them: where one of
  // these waits for another, it is enough.
  std::vector<Command> add(Command command, std::span<const MemoryRange> reads,
                           std::span<const MemoryRange> writes);

 private:
  // Memory from its key in the map to `end`: the last writer, and the readers since.
  struct Segment {
    uintptr_t end = 0;
    Command writer = -1;
    std::vector<Command> readers;
  };
  using Segments = std::map<uintptr_t, Segment>;

  // The segments that are exactly [begin, end), made by splitting, and by adding where none is.
  std::pair<Segments::iterator, Segments::iterator> cover(uintptr_t begin, uintptr_t end);
  void split(uintptr_t at);
  void note(Command command, std::vector<Command>& after) const;

  std::function<bool(Command)> isOver_;
  Segments segments_;  // by their beginning; they do not overlap
};

}  // namespace isthmus::opencl
