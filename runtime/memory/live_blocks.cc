// A table of blocks by address.
#include "runtime/memory/live_blocks.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace isthmus {
namespace {

std::string liveBlockText(std::string_view kind, size_t bytes, std::string_view what) {
  std::string text = std::string(kind) + " of " + byteSizeText(bytes);
  if (!what.empty()) text.append(" (").append(what).append(")");
  return text;
}

}  // namespace

std::string byteSizeText(size_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  auto size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %s", size, kUnits[unit]);
  return text;
}

void LiveBlocks::add(const void* data, size_t bytes, const BlockOrigin& origin) {
  const std::string kind = origin.type != nullptr ? origin.type->toString() : "memory";
  std::string text = liveBlockText(kind, bytes, origin.what);
  std::lock_guard lock(mutex_);
  blocks_[data] = {bytes, std::move(text)};
}

void LiveBlocks::remove(const void* data) {
  std::lock_guard lock(mutex_);
  blocks_.erase(data);
}

std::string LiveBlocks::largest(size_t count,
                                std::span<const ProgramMemory::Entry> programs) const {
  std::vector<Block> ofPrograms;
  for (const ProgramMemory::Entry& one : programs) {
    ofPrograms.push_back({one.bytes, liveBlockText("memory", one.bytes, one.what)});
  }
  std::lock_guard lock(mutex_);
  std::vector<const Block*> sorted;
  size_t bytes = 0;
  for (const auto& [data, block] : blocks_) {
    sorted.push_back(&block);
    bytes += block.bytes;
  }
  for (const Block& block : ofPrograms) {
    sorted.push_back(&block);
    bytes += block.bytes;
  }
  count = std::min(count, sorted.size());
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(count),
                    sorted.end(),
                    [](const Block* a, const Block* b) { return a->bytes > b->bytes; });
  std::string text = std::to_string(sorted.size()) + " blocks of " + byteSizeText(bytes);
  for (size_t i = 0; i < count; ++i) text += (i == 0 ? ": " : ", ") + sorted[i]->text;
  if (count < sorted.size()) text += ", …";
  return text;
}

}  // namespace isthmus
