// Library functions that move arrays: copies and swaps, split among threads when large.
#include "backends/cpu/load/copy_functions.h"

#include <algorithm>
#include <cstring>

#include "base/integer_math.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kChunkBytes = 64 * 1024;

struct Span {
  char* to;
  char* from;
  int64_t bytes;
};

void copyChunks(void* context, int64_t begin, int64_t end) {
  const Span& span = *static_cast<const Span*>(context);
  int64_t first = begin * kChunkBytes;
  std::memcpy(span.to + first, span.from + first, std::min(end * kChunkBytes, span.bytes) - first);
}

void swapChunks(void* context, int64_t begin, int64_t end) {
  const Span& span = *static_cast<const Span*>(context);
  std::swap_ranges(span.to + begin * kChunkBytes, span.to + std::min(end * kChunkBytes, span.bytes),
                   span.from + begin * kChunkBytes);
}

int32_t moveChunks(IsthmusRun* run, const void* descriptor, void* const* buffers,
                   RunServices::TileFunction function) {
  const auto& move = *static_cast<const MoveDescriptor*>(descriptor);
  Span span{static_cast<char*>(buffers[1]), static_cast<char*>(buffers[0]), move.bytes};
  run->services->parallelFor(ceilDiv(move.bytes, kChunkBytes),
                             std::max<int64_t>(1, move.grainBytes / kChunkBytes), function, &span);
  return 0;
}

}  // namespace

extern "C" int32_t isthmus_rt_copy(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return moveChunks(run, descriptor, buffers, copyChunks);
}

extern "C" int32_t isthmus_rt_swap(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return moveChunks(run, descriptor, buffers, swapChunks);
}

}  // namespace isthmus::cpu
