#include "backends/cpu/kernels/cache_sizes.h"

#include <algorithm>

#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu {

const SecondLevelParts& secondLevelParts() {
  static const SecondLevelParts parts = [] {
    constexpr int64_t kMeasuredBytes = 2 << 20;
    const int64_t bytes = std::min(nearCacheBytes(), kMeasuredBytes);
    SecondLevelParts here;
    for (int64_t* part : {&here.reused, &here.blockRows}) {
      *part = *part * bytes / kMeasuredBytes;
    }
    return here;
  }();
  return parts;
}

}  // namespace isthmus::cpu
