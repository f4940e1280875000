// Host memory for finding errors: every block ends where a page begins that nobody may touch, and
// is unmapped when it is given back. Who reads or writes past its end, or after it was freed,
// faults at once. Behind hostAllocate() where ISTHMUS_GUARD_MEMORY is set; many times slower than
// the pool.
#pragma once

#include <cstddef>

namespace isthmus {

// As hostAllocate(). The end is guarded to the byte where `bytes` is a multiple of the alignment of
// 64, otherwise up to that multiple.
void* guardedAllocate(size_t bytes);
// `data` is not null, and `bytes` what it was allocated with.
void guardedDeallocate(void* data, size_t bytes);

}  // namespace isthmus
