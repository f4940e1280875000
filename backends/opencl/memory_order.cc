#include "backends/opencl/memory_order.h"

#include <algorithm>

namespace isthmus::opencl {
namespace {

// Of one piece of memory; beyond, those that are over are forgotten.
constexpr size_t kManyReaders = 16;

}  // namespace

void MemoryOrder::note(Command command, std::vector<Command>& after) const {
  if (command < 0 || isOver_(command)) return;
  if (std::find(after.begin(), after.end(), command) == after.end()) after.push_back(command);
}

void MemoryOrder::split(uintptr_t at) {
  auto it = segments_.upper_bound(at);
  if (it == segments_.begin()) return;
  --it;
  if (it->first == at || it->second.end <= at) return;
  Segment rest = it->second;
  it->second.end = at;
  segments_.emplace_hint(std::next(it), at, std::move(rest));
}

std::pair<MemoryOrder::Segments::iterator, MemoryOrder::Segments::iterator> MemoryOrder::cover(
    uintptr_t begin, uintptr_t end) {
  split(begin);
  split(end);
  uintptr_t at = begin;
  auto it = segments_.lower_bound(begin);
  while (at < end) {
    if (it == segments_.end() || it->first > at) {
      uintptr_t next = it == segments_.end() ? end : std::min(end, it->first);
      it = segments_.emplace_hint(it, at, Segment{next, -1, {}});
    }
    at = it->second.end;
    ++it;
  }
  return {segments_.lower_bound(begin), it};
}

std::vector<MemoryOrder::Command> MemoryOrder::add(Command command,
                                                   std::span<const MemoryRange> reads,
                                                   std::span<const MemoryRange> writes) {
  std::vector<Command> after;
  for (const MemoryRange& range : reads) {
    if (range.bytes <= 0) continue;
    auto begin = reinterpret_cast<uintptr_t>(range.data);
    auto [from, to] = cover(begin, begin + static_cast<uintptr_t>(range.bytes));
    for (auto it = from; it != to; ++it) {
      std::vector<Command>& readers = it->second.readers;
      note(it->second.writer, after);
      if (readers.size() >= kManyReaders) std::erase_if(readers, isOver_);
      readers.push_back(command);
    }
  }
  for (const MemoryRange& range : writes) {
    if (range.bytes <= 0) continue;
    auto begin = reinterpret_cast<uintptr_t>(range.data);
    uintptr_t end = begin + static_cast<uintptr_t>(range.bytes);
    auto [from, to] = cover(begin, end);
    for (auto it = from; it != to; ++it) {
      // Readers have waited for the writer.
      for (Command reader : it->second.readers) note(reader, after);
      if (it->second.readers.empty()) note(it->second.writer, after);
    }
    segments_.erase(from, to);
    segments_[begin] = Segment{end, command, {}};
  }
  std::erase(after, command);
  return after;
}

}  // namespace isthmus::opencl
