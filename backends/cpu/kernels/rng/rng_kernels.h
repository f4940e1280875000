// The counter-based generators on blocks of counters.
#pragma once

#include <cstdint>

namespace isthmus::cpu {

struct RngKernels {
  // Words 0 and 1 of threefry2x32 for counters counter, counter + 1, … (64 bits, low word first).
  void (*threefry)(uint64_t key, uint64_t counter, int64_t count, uint32_t* words0,
                   uint32_t* words1);
  // Four words in a row for each of `count` 128-bit counters from (low, high) on.
  void (*philox)(uint64_t key, uint64_t low, uint64_t high, int64_t count, uint32_t* words);
};

namespace v2 {
RngKernels rngKernels();
}
namespace v3 {
RngKernels rngKernels();
}
namespace v4 {
RngKernels rngKernels();
}

}  // namespace isthmus::cpu
