// One mapping a block.
#include "runtime/memory/guarded_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/integer_math.h"
#include "runtime/memory/host_allocator.h"
#include "runtime/memory/host_spans.h"

namespace isthmus {
namespace {

struct Mapping {
  size_t used = 0;    // of the block, a multiple of its alignment
  size_t usable = 0;  // pages before the one that nobody may touch
  size_t page = 0;
};

Mapping mappingOf(size_t bytes) {
  Mapping mapping;
  mapping.page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mapping.used = roundUp(std::max<size_t>(bytes, 1), kBlockAlignment);
  mapping.usable = roundUp(mapping.used, mapping.page);
  return mapping;
}

}  // namespace

void* guardedAllocate(size_t bytes) {
  if (bytes > static_cast<size_t>(hostMemoryLimit())) return nullptr;
  const Mapping mapping = mappingOf(bytes);
  const size_t mapped = mapping.usable + mapping.page;
  void* memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  char* end = static_cast<char*>(memory) + mapping.usable;
  if (mprotect(end, mapping.page, PROT_NONE) != 0) {
    munmap(memory, mapped);
    return nullptr;
  }
  return end - mapping.used;
}

void guardedDeallocate(void* data, size_t bytes) {
  const Mapping mapping = mappingOf(bytes);
  char* end = static_cast<char*>(data) + mapping.used;
  munmap(end - mapping.usable, mapping.usable + mapping.page);
}

}  // namespace isthmus
