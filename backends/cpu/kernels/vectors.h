// Registers of the instruction set that a file is compiled for, and how arrays are read into them.
#pragma once

#include <cstdint>

#ifndef ISTHMUS_ISA
#error "for files that are compiled with ISTHMUS_ISA set to the name of an instruction set"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <typename T, int bytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(bytes)));
  typedef T Loose __attribute__((vector_size(bytes), aligned(1), may_alias));
};
template <typename T>
using Vec = typename VectorOf<T, kVectorBytes>::Type;
template <typename T>
inline constexpr int kLanes = kVectorBytes / sizeof(T);

template <typename T>
inline __attribute__((always_inline)) Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T, kVectorBytes>::Loose*>(p);
}
template <typename T>
inline __attribute__((always_inline)) void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorOf<T, kVectorBytes>::Loose*>(p) = v;
}

// bf16 in memory, as many as a vector has of f32. Rounded to nearest, ties to even; NaN stays NaN.
inline __attribute__((always_inline)) Vec<float> loadBfloats(const uint16_t* p) {
  using Halves = VectorOf<uint16_t, kVectorBytes / 2>::Loose;
  return reinterpret_cast<Vec<float>>(
      __builtin_convertvector(*reinterpret_cast<const Halves*>(p), Vec<uint32_t>) << 16);
}
inline __attribute__((always_inline)) void storeBfloats(uint16_t* p, Vec<float> v) {
  using Halves = VectorOf<uint16_t, kVectorBytes / 2>::Loose;
  using Bits = Vec<uint32_t>;
  const Bits bits = reinterpret_cast<Bits>(v);
  const Bits rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  const Bits quiet = (bits >> 16) | 0x40;
  const auto isNan = reinterpret_cast<Bits>((bits & 0x7FFFFFFF) > 0x7F800000);
  *reinterpret_cast<Halves*>(p) =
      __builtin_convertvector((quiet & isNan) | (rounded & ~isNan), Halves);
}

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA
