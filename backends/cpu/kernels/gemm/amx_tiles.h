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

// Of a product of up to 2 x 2 registers of sums: rows and columns of the result, up to 32 each, and
// elements of a lane that are multiplied at a time, up to 16. Sums are in registers 0 to 3 (row of
// registers * 2 + column), the left operand in 4 and 5, the right one in 6 and 7.
struct TileShape {
  uint8_t rows = 0;
  uint8_t columns = 0;
  uint8_t elements = 0;
  bool operator==(const TileShape&) const = default;
};
inline constexpr TileShape kFullTiles{2 * kTileRows, 2 * kTileElements, kTileElements};

// Rows of a register, and bytes of its rows. One that a shape has no use for is like its neighbour:
// code may zero it.
struct RegisterShape {
  uint8_t rows;
  uint8_t rowBytes;
};
constexpr RegisterShape registerShape(TileShape shape, int t) {
  auto part = [](uint8_t size, bool second) -> uint8_t {
    if (size <= 16) return size;
    return second ? size - 16 : 16;
  };
  const bool isLower = t == 2 || t == 3 || t == 5, isRight = t == 1 || t == 3 || t == 7;
  const uint8_t rows = t >= 6 ? shape.elements : part(shape.rows, isLower);
  const uint8_t columns = t == 4 || t == 5 ? shape.elements : part(shape.columns, isRight);
  return {rows, static_cast<uint8_t>(4 * columns)};
}

// The shape that this thread's registers have, none outside of beginTiles() and endTiles(): whoever
// else uses them there gives them another.
inline TileShape& currentShape() {
  thread_local TileShape shape;
  return shape;
}

#if defined(ISTHMUS_EMULATE_AMX)

struct EmulatedTile {
  uint32_t rows[kTileRows][kTileElements];
};
inline EmulatedTile& emulatedTile(int index) {
  thread_local EmulatedTile tiles[8];
  return tiles[index];
}
inline RegisterShape emulatedShape(int index) { return registerShape(currentShape(), index); }

inline void loadShape(TileShape) {
  for (int t = 0; t < 8; ++t) emulatedTile(t) = {};
}
inline void releaseTiles() {}

template <int t>
void zeroTile() {
  emulatedTile(t) = {};
}
template <int t, bool isOnce = false>
void loadTile(const void* data, int64_t strideBytes) {
  emulatedTile(t) = {};
  for (int r = 0; r < emulatedShape(t).rows; ++r) {
    __builtin_memcpy(emulatedTile(t).rows[r], static_cast<const char*>(data) + r * strideBytes,
                     emulatedShape(t).rowBytes);
  }
}
template <int t>
void storeTile(void* data, int64_t strideBytes) {
  for (int r = 0; r < emulatedShape(t).rows; ++r) {
    __builtin_memcpy(static_cast<char*>(data) + r * strideBytes, emulatedTile(t).rows[r],
                     emulatedShape(t).rowBytes);
  }
}

// c(m, n) += product of the parts of a(m, k) and b(k, n), for all k; `part` of an element, `parts`.
template <typename Sum, int parts, typename Part>
void multiplyEmulated(int c, int a, int b, Part part) {
  for (int m = 0; m < emulatedShape(c).rows; ++m) {
    for (int k = 0; k < emulatedShape(b).rows; ++k) {
      for (int n = 0; n < emulatedShape(c).rowBytes / 4; ++n) {
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

inline void loadShape(TileShape shape) {
  TileConfiguration configuration;
  for (int t = 0; t < 8; ++t) {
    const RegisterShape part = registerShape(shape, t);
    configuration.rowBytes[t] = part.rowBytes;
    configuration.rows[t] = part.rows;
  }
  _tile_loadconfig(&configuration);
}
inline void releaseTiles() { _tile_release(); }

template <int t>
inline __attribute__((always_inline)) void zeroTile() {
  _tile_zero(t);
}
// With `isOnce` past the first-level cache, which is left to what is read again.
template <int t, bool isOnce = false>
inline __attribute__((always_inline)) void loadTile(const void* data, int64_t strideBytes) {
  if constexpr (isOnce) {
    _tile_stream_loadd(t, data, strideBytes);
  } else {
    _tile_loadd(t, data, strideBytes);
  }
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

// A thread calls beginTiles() before it uses its registers, which are its own until endTiles();
// their shape may change in between, and all are zero then.
inline void changeShape(TileShape shape) {
  if (shape == currentShape()) return;
  currentShape() = shape;
  loadShape(shape);
}
inline void beginTiles() {
  currentShape() = {};
  changeShape(kFullTiles);
}
inline void endTiles() {
  releaseTiles();
  currentShape() = {};
}

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA
