// Stable sorting of items by the top bits of an unsigned integer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "isthmus/run_services.h"

namespace isthmus::cpu {

// Below this many items comparing beats distributing.
inline constexpr int64_t kMinRadixItems = 200;
inline constexpr int kMaxRadixChunks = 16;
inline constexpr int kMaxDigitBits = 11;

// Scratch memory that radixSort needs for its counters, in bytes.
inline size_t radixCounterBytes() {
  return size_t{kMaxRadixChunks} * (size_t{1} << kMaxDigitBits) * sizeof(uint32_t);
}

// Sorts `count` < 2^32 items by bits [lowBit, lowBit + keyBits) of each, stably; returns where the
// result is: `items` or `spare`. With `services`, threads share the work.
template <typename Item>
Item* radixSort(Item* items, Item* spare, int64_t count, int lowBit, int keyBits,
                uint32_t* counters, RunServices* services) {
  // Wide digits save passes, narrow ones save clearing counters and cache misses.
  const int digitBits = count >= 8192 ? 11 : 8;
  const int passes = (keyBits + digitBits - 1) / digitBits;
  const int bits = (keyBits + passes - 1) / passes;
  const int64_t buckets = int64_t{1} << bits;
  const uint32_t mask = static_cast<uint32_t>(buckets - 1);
  int64_t chunks = 1;
  if (services && count >= (1 << 16)) {
    chunks = std::min<int64_t>(services->numThreads(), kMaxRadixChunks);
  }
  const int64_t perChunk = (count + chunks - 1) / chunks;

  struct Pass {
    const Item* from;
    Item* to;
    int64_t count, perChunk, buckets;
    int shift;
    uint32_t mask;
    uint32_t* counters;
  };
  auto countDigits = [](void* context, int64_t begin, int64_t end) {
    const Pass& p = *static_cast<Pass*>(context);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      uint32_t* counter = p.counters + chunk * p.buckets;
      std::memset(counter, 0, static_cast<size_t>(p.buckets) * sizeof(uint32_t));
      const int64_t last = std::min(p.count, (chunk + 1) * p.perChunk);
      for (int64_t i = chunk * p.perChunk; i < last; ++i) {
        ++counter[static_cast<uint32_t>(p.from[i] >> p.shift) & p.mask];
      }
    }
  };
  auto distribute = [](void* context, int64_t begin, int64_t end) {
    const Pass& p = *static_cast<Pass*>(context);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      uint32_t* position = p.counters + chunk * p.buckets;
      const int64_t last = std::min(p.count, (chunk + 1) * p.perChunk);
      for (int64_t i = chunk * p.perChunk; i < last; ++i) {
        Item item = p.from[i];
        p.to[position[static_cast<uint32_t>(item >> p.shift) & p.mask]++] = item;
      }
    }
  };
  auto run = [&](auto function, Pass& pass) {
    if (chunks == 1) {
      function(&pass, 0, 1);
    } else {
      services->parallelFor(chunks, 1, function, &pass);
    }
  };

  for (int p = 0; p < passes; ++p) {
    Pass pass{items, spare, count, perChunk, buckets, lowBit + p * bits, mask, counters};
    if (p * bits + bits > keyBits) pass.mask = (uint32_t{1} << (keyBits - p * bits)) - 1;
    run(countDigits, pass);
    // Counts become first positions, bucket by bucket, chunk by chunk within a bucket.
    uint32_t sum = 0;
    bool oneBucket = false;
    for (int64_t b = 0; b < buckets; ++b) {
      uint32_t before = sum;
      for (int64_t c = 0; c < chunks; ++c) {
        uint32_t n = counters[c * buckets + b];
        counters[c * buckets + b] = sum;
        sum += n;
      }
      oneBucket = oneBucket || static_cast<int64_t>(sum - before) == count;
    }
    if (oneBucket) continue;
    run(distribute, pass);
    std::swap(items, spare);
  }
  return items;
}

}  // namespace isthmus::cpu
