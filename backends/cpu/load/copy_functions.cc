// Library functions that move arrays: copies and swaps, split among threads when large.
#include "backends/cpu/load/copy_functions.h"

#include <algorithm>
#include <cstring>

namespace isthmus::cpu {
namespace {

constexpr int64_t kChunkBytes = 64 * 1024;
// The least that one thread is handed: half of what TargetModel::minParallelBytes wants of an
// array.
constexpr int64_t kChunksPerThread = 8;

int64_t chunksOf(int64_t bytes) { return (bytes + kChunkBytes - 1) / kChunkBytes; }

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

}  // namespace

extern "C" int32_t isthmus_rt_copy(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Span span{static_cast<char*>(buffers[1]), static_cast<char*>(buffers[0]),
            static_cast<const MoveDescriptor*>(descriptor)->bytes};
  run->services->parallelFor(chunksOf(span.bytes), kChunksPerThread, copyChunks, &span);
  return 0;
}

extern "C" int32_t isthmus_rt_swap(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  Span span{static_cast<char*>(buffers[1]), static_cast<char*>(buffers[0]),
            static_cast<const MoveDescriptor*>(descriptor)->bytes};
  run->services->parallelFor(chunksOf(span.bytes), kChunksPerThread, swapChunks, &span);
  return 0;
}

}  // namespace isthmus::cpu
