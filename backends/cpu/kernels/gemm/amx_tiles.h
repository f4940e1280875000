// The eight tile registers of Intel's AMX: 16 rows of 64 bytes each. With ISTHMUS_EMULATE_AMX they
// are memory, so that code for them can be tested on every machine.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, LDTILECFG,
// TILELOADD, TDPBF16PS, TDPBSSD.
#pragma once

#include <cstdint>

#if !defined(ISTHMUS_EMULATE_AMX)
#include <immintrin.h>
#endif

#ifndef ISTHMUS_ISA
#error "for files that are compiled with ISTHMUS_ISA set to the name of an instruction set"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

inline constexpr int kTileRows = 16;
inline constexpr int kTileRowBytes = 64;
inline constexpr int kTileElements = kTileRowBytes / 4;  // of 32 bits, in a row

#if defined(ISTHMUS_EMULATE_AMX)

struct EmulatedTile {
  uint32_t rows[kTileRows][kTileElements];
};
inline EmulatedTile& emulatedTile(int index) {
  thread_local EmulatedTile tiles[8];
  return tiles[index];
}

inline void configureTiles() {}
inline void releaseTiles() {}

template <int t>
void zeroTile() {
  emulatedTile(t) = {};
}
template <int t>
void loadTile(const void* data, int64_t strideBytes) {
  for (int r = 0; r < kTileRows; ++r) {
    __builtin_memcpy(emulatedTile(t).rows[r], static_cast<const char*>(data) + r * strideBytes,
                     kTileRowBytes);
  }
}
template <int t>
void storeTile(void* data, int64_t strideBytes) {
  for (int r = 0; r < kTileRows; ++r) {
    __builtin_memcpy(static_cast<char*>(data) + r * strideBytes, emulatedTile(t).rows[r],
                     kTileRowBytes);
  }
}

// c(m, n) += product of the parts of a(m, k) and b(k, n), for all k; `part` of an element, `parts`.
template <typename Sum, int parts, typename Part>
void multiplyEmulated(int c, int a, int b, Part part) {
  for (int m = 0; m < kTileRows; ++m) {
    for (int k = 0; k < kTileElements; ++k) {
      for (int n = 0; n < kTileElements; ++n) {
        Sum sum;
        __builtin_memcpy(&sum, &emulatedTile(c).rows[m][n], sizeof(sum));
        for (int i = 0; i < parts; ++i) {
          sum += part(emulatedTile(a).rows[m][k], i) * part(emulatedTile(b).rows[k][n], i);
        }
        __builtin_memcpy(&emulatedTile(c).rows[m][n], &sum, sizeof(sum));
      }
    }
  }
}
template <int c, int a, int b>
void multiplyBf16() {
  multiplyEmulated<float, 2>(c, a, b, [](uint32_t element, int i) {
    const uint32_t bits = i == 0 ? element << 16 : element & 0xFFFF0000;
    float value;
    __builtin_memcpy(&value, &bits, sizeof(value));
    return value;
  });
}
template <int c, int a, int b>
void multiplyBytes() {
  multiplyEmulated<int32_t, 4>(c, a, b, [](uint32_t element, int i) {
    return static_cast<int32_t>(static_cast<int8_t>(element >> (8 * i)));
  });
}

#else

// What LDTILECFG reads.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t startRow = 0;
  uint8_t reserved[14] = {};
  uint16_t rowBytes[16] = {};
  uint8_t rows[16] = {};
};

// All tiles at their full size, zero. A thread's tiles belong to nobody else until releaseTiles().
inline void configureTiles() {
  TileConfiguration configuration;
  for (int t = 0; t < 8; ++t) {
    configuration.rowBytes[t] = kTileRowBytes;
    configuration.rows[t] = kTileRows;
  }
  _tile_loadconfig(&configuration);
}
inline void releaseTiles() { _tile_release(); }

template <int t>
inline __attribute__((always_inline)) void zeroTile() {
  _tile_zero(t);
}
template <int t>
inline __attribute__((always_inline)) void loadTile(const void* data, int64_t strideBytes) {
  _tile_loadd(t, data, strideBytes);
}
template <int t>
inline __attribute__((always_inline)) void storeTile(void* data, int64_t strideBytes) {
  _tile_stored(t, data, strideBytes);
}
// c(m, n) += sum over k of a(m, k) * b(k, n), where elements of a and b are two bf16, lower first.
template <int c, int a, int b>
inline __attribute__((always_inline)) void multiplyBf16() {
  _tile_dpbf16ps(c, a, b);
}
// The same of four signed bytes.
template <int c, int a, int b>
inline __attribute__((always_inline)) void multiplyBytes() {
  _tile_dpbssd(c, a, b);
}

#endif

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA
