// threefry2x32 and philox4x32 (Salmon et al., SC 2011) on vectors of counters; compiled once per
// instruction set.
#include "backends/cpu/kernels/rng/rng_kernels.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef uint32_t LooseWords __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));
typedef uint64_t Longs __attribute__((vector_size(kLanes * 8)));

constexpr Longs lanesFrom(uint64_t first) {
  Longs v{};
  for (int i = 0; i < kLanes; ++i) v[i] = first + static_cast<uint64_t>(i);
  return v;
}

inline __attribute__((always_inline)) void threefryRounds(Words& x0, Words& x1,
                                                          const int* rotations) {
#pragma clang loop unroll(full)
  for (int r = 0; r < 4; ++r) {
    x0 += x1;
    x1 = (x1 << rotations[r]) | (x1 >> (32 - rotations[r]));
    x1 ^= x0;
  }
}

void threefry(uint64_t key, uint64_t counter, int64_t count, uint32_t* words0, uint32_t* words1) {
  static constexpr int even[] = {13, 15, 26, 6};
  static constexpr int odd[] = {17, 29, 16, 24};
  uint32_t ks[3] = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32), 0};
  ks[2] = 0x1BD11BDA ^ ks[0] ^ ks[1];
  for (int64_t i = 0; i < count; i += kLanes) {
    Longs counters = lanesFrom(0) + (counter + static_cast<uint64_t>(i));
    Words x0 = __builtin_convertvector(counters, Words) + ks[0];
    Words x1 = __builtin_convertvector(counters >> 32, Words) + ks[1];
#pragma clang loop unroll(full)
    for (int group = 0; group < 5; ++group) {
      threefryRounds(x0, x1, group % 2 == 0 ? even : odd);
      x0 += ks[(group + 1) % 3];
      x1 += ks[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
    }
    if (i + kLanes <= count) {
      *reinterpret_cast<LooseWords*>(words0 + i) = x0;
      *reinterpret_cast<LooseWords*>(words1 + i) = x1;
    } else {
      for (int64_t j = 0; i + j < count; ++j) {
        words0[i + j] = x0[j];
        words1[i + j] = x1[j];
      }
    }
  }
}

void philox(uint64_t key, uint64_t low, uint64_t high, int64_t count, uint32_t* words) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const uint64_t first = low + static_cast<uint64_t>(i);
    Longs lows = lanesFrom(0) + first;
    Longs highs = lanesFrom(0) * 0 + high;
    // The carry into the high word, for all lanes or for those past the end of the low one.
    highs -= (Longs)(lows < low);
    Words x[4] = {__builtin_convertvector(lows, Words), __builtin_convertvector(lows >> 32, Words),
                  __builtin_convertvector(highs, Words),
                  __builtin_convertvector(highs >> 32, Words)};
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
      Longs p0 = __builtin_convertvector(x[0], Longs) * 0xD2511F53u;
      Longs p1 = __builtin_convertvector(x[2], Longs) * 0xCD9E8D57u;
      Words y0 = __builtin_convertvector(p1 >> 32, Words) ^ x[1] ^ k0;
      Words y2 = __builtin_convertvector(p0 >> 32, Words) ^ x[3] ^ k1;
      x[1] = __builtin_convertvector(p1, Words);
      x[3] = __builtin_convertvector(p0, Words);
      x[0] = y0;
      x[2] = y2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    const int64_t lanes = count - i < kLanes ? count - i : kLanes;
    for (int64_t j = 0; j < lanes; ++j) {
      for (int w = 0; w < 4; ++w) words[(i + j) * 4 + w] = x[w][j];
    }
  }
}

}  // namespace

RngKernels rngKernels() { return {threefry, philox}; }

}  // namespace isthmus::cpu::ISTHMUS_ISA
