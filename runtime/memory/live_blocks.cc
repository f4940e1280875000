// A table of blocks by address.
#include "runtime/memory/live_blocks.h"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace isthmus {

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
  std::string text = origin.type != nullptr ? origin.type->toString() : "memory";
  text += " of " + byteSizeText(bytes);
  if (!origin.what.empty()) text.append(" (").append(origin.what).append(")");
  std::lock_guard lock(mutex_);
  blocks_[data] = {bytes, std::move(text)};
}

void LiveBlocks::remove(const void* data) {
  std::lock_guard lock(mutex_);
  blocks_.erase(data);
}

std::string LiveBlocks::largest(size_t count) const {
  std::lock_guard lock(mutex_);
  std::vector<const Block*> sorted;
  size_t bytes = 0;
  for (const auto& [data, block] : blocks_) {
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
