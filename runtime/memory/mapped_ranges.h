// Ranges of host memory that a caller has said devices will reach (DmaMap).
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>

#include "isthmus/status.h"

namespace isthmus {

// Of one client. Any thread.
class MappedRanges {
 public:
  // May be mapped already, in part or as a whole. kInvalidArgument for a range without bytes, and
  // for one that leaves the address space.
  Status add(const void* data, size_t bytes);
  // As often as the range that begins there was added; else kInvalidArgument.
  Status remove(const void* data);

 private:
  std::mutex mutex_;
  std::multiset<uintptr_t> beginnings_;
};

}  // namespace isthmus
