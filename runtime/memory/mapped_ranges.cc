#include "runtime/memory/mapped_ranges.h"

namespace isthmus {

Status MappedRanges::add(const void* data, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  if (bytes == 0 || bytes > UINTPTR_MAX - begin) {
    return invalidArgument("cannot map ", bytes, " bytes at ", data, " for DMA");
  }
  std::lock_guard lock(mutex_);
  beginnings_.insert(begin);
  return {};
}

Status MappedRanges::remove(const void* data) {
  std::lock_guard lock(mutex_);
  auto found = beginnings_.find(reinterpret_cast<uintptr_t>(data));
  if (found == beginnings_.end()) {
    return invalidArgument("cannot unmap ", data,
                           ": no memory that is mapped for DMA begins there");
  }
  beginnings_.erase(found);
  return {};
}

}  // namespace isthmus
