// Sums of the lanes of several vectors at once.
#pragma once

#include "backends/cpu/kernels/gemm/gemm_tile.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// Of pieces of `width` lanes, those of a and then those of b: each becomes the sum of its halves.
template <int width, typename V, int... count>
inline __attribute__((always_inline)) V sumHalves(Sequence<count...>, V a, V b) {
  constexpr int half = width / 2;
  constexpr auto at = [](int lane) { return lane / half * width + lane % half; };
  return __builtin_shufflevector(a, b, at(count - 1)...) +
         __builtin_shufflevector(a, b, (at(count - 1) + half)...);
}

// The sums of the lanes of `count` vectors lie behind each other in the first ones.
template <typename T, int count, int width = kLanes<T>>
inline __attribute__((always_inline)) void sumLanes(Vec<T>* v) {
  if constexpr (width > 1) {
    constexpr int left = count > 1 ? count / 2 : 1;
    constexpr int step = count > 1 ? 1 : 0;
#pragma clang loop unroll(full)
    for (int i = 0; i < left; ++i) {
      v[i] = sumHalves<width>(typename MakeSequence<kLanes<T>>::Type(), v[2 * i], v[2 * i + step]);
    }
    sumLanes<T, left, width / 2>(v);
  }
}

}  // namespace
}  // namespace isthmus::cpu::ISTHMUS_ISA
