// The transpose of a square of registers, for files that are compiled once per instruction set.
#pragma once

#ifndef ISTHMUS_ISA
#error "for files that are compiled with ISTHMUS_ISA set to the name of an instruction set"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {

// r[i][j] becomes r[j][i]; V is a vector of `size` elements, 4 or 8.
template <typename V, int size>
inline __attribute__((always_inline)) void transposeBlock(V* r) {
  static_assert(size == 8 || size == 4);
  if constexpr (size == 8) {
    V t[8], u[8];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      t[2 * i] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
      t[2 * i + 1] = __builtin_shufflevector(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; ++i) {
      u[4 * i] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      u[4 * i + 1] = __builtin_shufflevector(t[4 * i], t[4 * i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
      u[4 * i + 2] = __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
      u[4 * i + 3] =
          __builtin_shufflevector(t[4 * i + 1], t[4 * i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; ++i) {
      r[i] = __builtin_shufflevector(u[i], u[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
      r[i + 4] = __builtin_shufflevector(u[i], u[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
  } else {
    V t[4];
    t[0] = __builtin_shufflevector(r[0], r[1], 0, 4, 2, 6);
    t[1] = __builtin_shufflevector(r[0], r[1], 1, 5, 3, 7);
    t[2] = __builtin_shufflevector(r[2], r[3], 0, 4, 2, 6);
    t[3] = __builtin_shufflevector(r[2], r[3], 1, 5, 3, 7);
    r[0] = __builtin_shufflevector(t[0], t[2], 0, 1, 4, 5);
    r[1] = __builtin_shufflevector(t[1], t[3], 0, 1, 4, 5);
    r[2] = __builtin_shufflevector(t[0], t[2], 2, 3, 6, 7);
    r[3] = __builtin_shufflevector(t[1], t[3], 2, 3, 6, 7);
  }
}

}  // namespace isthmus::cpu::ISTHMUS_ISA
