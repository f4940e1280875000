// Numbers of the types that products and convolutions have, in memory.
#pragma once

#include <cstdint>

#include "backends/cuda/driver/fake/ptx/numbers.h"

enum class FakeType { kF32, kF16, kBf16 };

inline float readFake(FakeType type, const void* data, int64_t i) {
  if (type == FakeType::kF32) return static_cast<const float*>(data)[i];
  uint16_t bits = static_cast<const uint16_t*>(data)[i];
  return static_cast<float>(type == FakeType::kF16
                                ? isthmus::ptx::toDouble(isthmus::ptx::F16{bits})
                                : isthmus::ptx::toDouble(isthmus::ptx::Bf16{bits}));
}

// To the nearest, ties to even.
inline void writeFake(FakeType type, void* data, int64_t i, float value) {
  if (type == FakeType::kF32) {
    static_cast<float*>(data)[i] = value;
  } else {
    static_cast<uint16_t*>(data)[i] =
        type == FakeType::kF16 ? isthmus::ptx::toF16(value).bits : isthmus::ptx::toBf16(value).bits;
  }
}
