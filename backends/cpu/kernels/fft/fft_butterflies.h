// Fourier transforms of a few values: what the stages of the complex and of the real transforms
// share. Included by the files that are compiled once per instruction set.
//
// The roundings are those of DUCC's transforms, which XLA's CPU client runs: sums of an odd radix
// are taken over pairs x[j] +- x[radix - j], in the order of j, and multiplications are never fused
// with additions. Another order would be as accurate, but not equal.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

#define ISTHMUS_FFT_INLINE inline __attribute__((always_inline))

namespace isthmus::cpu::ISTHMUS_ISA {

// kFftLanes values: one of each line that is transformed.
template <typename T>
using Lanes __attribute__((vector_size(32))) = T;

template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
ISTHMUS_FFT_INLINE Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
ISTHMUS_FFT_INLINE Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <typename V, typename T>
ISTHMUS_FFT_INLINE Complex<V> operator*(Complex<V> a, T s) {
  return {a.re * s, a.im * s};
}
// Times -i.
template <typename V>
ISTHMUS_FFT_INLINE Complex<V> turn(Complex<V> a) {
  return {a.im, -a.re};
}
// Real and imaginary parts exchanged: turns forward transforms into inverse ones.
template <typename V>
ISTHMUS_FFT_INLINE Complex<V> exchanged(Complex<V> a) {
  return {a.im, a.re};
}
template <typename T, typename V>
ISTHMUS_FFT_INLINE Complex<V> times(Complex<V> a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

template <int radix>
using Radix = std::integral_constant<int, radix>;

// Calls `run` with the constant Radix<radix> if that is one of `known`, else with Radix<0>.
template <int... known, typename Run>
ISTHMUS_FFT_INLINE void withRadix(int radix, Run run) {
  const bool found = ((radix == known && (run(Radix<known>()), true)) || ...);
  if (!found) run(Radix<0>());
}

// cos and sin of 2 pi k / radix for 0 <= k <= radix / 2.
template <int radix>
struct RootsOfUnity;
template <>
struct RootsOfUnity<3> {
  static constexpr long double kCos[] = {1, -0.5L};
  static constexpr long double kSin[] = {0, 0.86602540378443864676372317075293618L};
};
template <>
struct RootsOfUnity<5> {
  static constexpr long double kCos[] = {1, 0.30901699437494742410229341718281906L,
                                         -0.80901699437494742410229341718281906L};
  static constexpr long double kSin[] = {0, 0.95105651629515357211643933337938214L,
                                         0.58778525229247312916870595463907277L};
};
template <>
struct RootsOfUnity<7> {
  static constexpr long double kCos[] = {1, 0.62348980185873353052500488400423981L,
                                         -0.22252093395631440428890256449679476L,
                                         -0.90096886790241912623610231950744505L};
  static constexpr long double kSin[] = {0, 0.78183148246802980870844452667405775L,
                                         0.97492791218182360701813168299393122L,
                                         0.43388373911755812047576833284835875L};
};
template <>
struct RootsOfUnity<11> {
  static constexpr long double kCos[] = {1,
                                         0.84125353283118116886181164891936772L,
                                         0.41541501300188642552927414922962320L,
                                         -0.14231483827328514044379266861636967L,
                                         -0.65486073394528506405692507246629357L,
                                         -0.95949297361449738989036805706632770L};
  static constexpr long double kSin[] = {0,
                                         0.54064081745559758210763595431869170L,
                                         0.90963199535451837141171538307902849L,
                                         0.98982144188093273237609203777671884L,
                                         0.75574957435425828377403584397234446L,
                                         0.28173255684142969771141791534661690L};
};

// The same for any k and a radix that is known: its tables are constants.
template <typename T, int radix>
struct ConstantRoots {
  static constexpr T cos(int k) {
    return T(RootsOfUnity<radix>::kCos[k <= radix / 2 ? k : radix - k]);
  }
  static constexpr T sin(int k) {
    return k <= radix / 2 ? T(RootsOfUnity<radix>::kSin[k])
                          : -T(RootsOfUnity<radix>::kSin[radix - k]);
  }
};
template <typename T>
struct TabulatedRoots {
  const T* re;  // exp(-2 pi i k / radix)
  const T* im;
  T cos(int k) const { return re[k]; }
  T sin(int k) const { return -im[k]; }
};

// How many products are summed before they are added to the rest.
enum class SumOrder { kOneByOne, kTwos, kFoursThenTwos };

// cosines = sum[0] + cos(2 pi l 1 / radix) sum[1] + cos(2 pi l 2 / radix) sum[2] ...,
// sines = sin(2 pi l 1 / radix) difference[1] ..., up to index (radix - 1) / 2. X is a vector or
// complex.
template <SumOrder order, typename X, typename Roots>
ISTHMUS_FFT_INLINE void rotatedSums(int radix, int l, const X* sum, const X* difference,
                                    Roots roots, X* cosines, X* sines) {
  const int half = (radix - 1) / 2;
  X a = sum[0] + sum[1] * roots.cos(l);
  X b = difference[1] * roots.sin(l);
  int j = 2, k = l;  // k = l (j - 1) modulo the radix
  auto next = [&] {
    k += l;
    if (k >= radix) k -= radix;
    return k;
  };
  if (half >= 2) {
    const int at = next();
    a = a + sum[2] * roots.cos(at);
    b = b + difference[2] * roots.sin(at);
    j = 3;
  }
  if constexpr (order == SumOrder::kFoursThenTwos) {
    for (; j + 3 <= half; j += 4) {
      const int k1 = next(), k2 = next(), k3 = next(), k4 = next();
      a = a + (sum[j] * roots.cos(k1) + sum[j + 1] * roots.cos(k2) + sum[j + 2] * roots.cos(k3) +
               sum[j + 3] * roots.cos(k4));
      b = b + (difference[j] * roots.sin(k1) + difference[j + 1] * roots.sin(k2) +
               difference[j + 2] * roots.sin(k3) + difference[j + 3] * roots.sin(k4));
    }
  }
  if constexpr (order != SumOrder::kOneByOne) {
    for (; j + 1 <= half; j += 2) {
      const int k1 = next(), k2 = next();
      a = a + (sum[j] * roots.cos(k1) + sum[j + 1] * roots.cos(k2));
      b = b + (difference[j] * roots.sin(k1) + difference[j + 1] * roots.sin(k2));
    }
  }
#pragma clang loop unroll(full)
  for (; j <= half; ++j) {
    const int at = next();
    a = a + sum[j] * roots.cos(at);
    b = b + difference[j] * roots.sin(at);
  }
  *cosines = a;
  *sines = b;
}

// The forward transform of an odd number of values, in place. `scratch` holds radix values.
template <SumOrder order, typename V, typename Roots>
ISTHMUS_FFT_INLINE void oddButterfly(int radix, Complex<V>* x, Complex<V>* scratch, Roots roots) {
  const int half = (radix - 1) / 2;
  // difference[1] lies behind the last sum.
  Complex<V>*sum = scratch, *difference = scratch + half;
  Complex<V> total = sum[0] = x[0];
#pragma clang loop unroll(full)
  for (int j = 1; j <= half; ++j) {
    sum[j] = x[j] + x[radix - j];
    difference[j] = x[j] - x[radix - j];
    total = total + sum[j];
  }
  x[0] = total;
#pragma clang loop unroll(full)
  for (int l = 1; l <= half; ++l) {
    Complex<V> a, b;
    rotatedSums<order>(radix, l, sum, difference, roots, &a, &b);
    x[l] = a + turn(b);
    x[radix - l] = a - turn(b);
  }
}

template <typename T, typename V>
ISTHMUS_FFT_INLINE void eightfold(Complex<V>* x) {
  constexpr T kHalfRoot = T(0.70710678118654752440084436210484904L);
  Complex<V> a1 = x[1] + x[5], a5 = x[1] - x[5], a3 = x[3] + x[7], a7 = turn(x[3] - x[7]);
  const Complex<V> b1 = a1 + a3, b3 = turn(a1 - a3), s5 = a5 + a7, s7 = a5 - a7;
  // Times exp(-i pi / 4) and exp(-3 i pi / 4).
  const Complex<V> b5{(s5.re + s5.im) * kHalfRoot, (s5.im - s5.re) * kHalfRoot};
  const Complex<V> b7{(s7.im - s7.re) * kHalfRoot, (-s7.re - s7.im) * kHalfRoot};
  const Complex<V> a0 = x[0] + x[4], a4 = x[0] - x[4], a2 = x[2] + x[6], a6 = turn(x[2] - x[6]);
  const Complex<V> b0 = a0 + a2, b2 = a0 - a2, b4 = a4 + a6, b6 = a4 - a6;
  x[0] = b0 + b1;
  x[4] = b0 - b1;
  x[2] = b2 + b3;
  x[6] = b2 - b3;
  x[1] = b4 + b5;
  x[5] = b4 - b5;
  x[3] = b6 + b7;
  x[7] = b6 - b7;
}

// The forward transform of radix values, in place.
template <typename T, typename V, int radix>
ISTHMUS_FFT_INLINE void butterfly(Complex<V>* x) {
  if constexpr (radix == 2) {
    const Complex<V> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (radix == 4) {
    const Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turn(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (radix == 8) {
    eightfold<T>(x);
  } else {
    Complex<V> scratch[radix];
    oddButterfly<SumOrder::kOneByOne>(radix, x, scratch, ConstantRoots<T, radix>());
  }
}

// The same for a radix that is known, or, if `known` is 0, for any odd one with its roots.
// `scratch` then holds radix values.
template <SumOrder order, typename T, typename V, int known>
ISTHMUS_FFT_INLINE void knownOrOddButterfly(int radix, Complex<V>* x, Complex<V>* scratch,
                                            TabulatedRoots<T> roots) {
  if constexpr (known) {
    butterfly<T, V, known>(x);
  } else {
    oddButterfly<order>(radix, x, scratch, roots);
  }
}

}  // namespace isthmus::cpu::ISTHMUS_ISA
