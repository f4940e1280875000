// The pooled allocator of host memory: what CPU buffers, arenas and scratch memory come from.
//
// A fresh large block costs a page fault per page, many times what computing into it costs. Blocks
// that are given back thus stay mapped, up to a bound and for some seconds (host_blocks.h). Small
// blocks come from per-thread lists, and their memory serves any size once it is free
// (host_spans.h). Why it is our own: docs/adr/0016-own-host-allocator.md.
// Built with AddressSanitizer, every block comes from the system instead, so errors stay visible.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus {

struct HostAllocatorStats {
  int64_t bytesInUse = 0;   // large blocks handed out, and chunks of small ones
  int64_t bytesCached = 0;  // mapped, waiting for the next caller
  int64_t bytesLimit = 0;   // physical memory, or the control group's limit
};

// Of `bytes` bytes, aligned to 64 bytes, contents undefined; 0 is legal and gives a pointer of its
// own. Null when there is no memory left. Safe from any thread, and in children made by fork().
void* hostAllocate(size_t bytes);
// `bytes` must be what the block was allocated with. Null is ignored.
void hostDeallocate(void* data, size_t bytes);

// Gives cached memory back to the system.
void hostAllocatorTrim();
HostAllocatorStats hostAllocatorStats();

// Bytes of memory that this process may use: the machine's, or the control group's limit.
int64_t hostMemoryLimit();

}  // namespace isthmus
