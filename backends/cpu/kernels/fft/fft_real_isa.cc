// Transforms of real lines, which keep half of a spectrum after each stage (Swarztrauber,
// "Vectorizing the FFTs", 1982); compiled once per instruction set. Each stage reads one array and
// writes the other.
#include <algorithm>

#include "backends/cpu/kernels/fft/fft_butterflies.h"
#include "backends/cpu/kernels/fft/fft_kernels.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// rotatedSums in the order of real lines, for a radix that is known or any odd one.
template <typename T, typename V, int known>
ISTHMUS_FFT_INLINE void sumsOf(int radix, int l, const V* sum, const V* difference,
                               TabulatedRoots<T> roots, V* cosines, V* sines) {
  if constexpr (known) {
    rotatedSums<SumOrder::kOneByOne>(radix, l, sum, difference, ConstantRoots<T, known>(), cosines,
                                     sines);
  } else {
    rotatedSums<SumOrder::kFoursThenTwos>(radix, l, sum, difference, roots, cosines, sines);
  }
}

// The half spectrum of radix real values.
template <typename T, typename V, int known>
ISTHMUS_FFT_INLINE void realButterfly(int radix, const V* x, V* y, V* scratch,
                                      TabulatedRoots<T> roots) {
  if constexpr (known == 2) {
    y[0] = x[0] + x[1];
    y[1] = x[0] - x[1];
  } else if constexpr (known == 4) {
    const V odd = x[3] + x[1], even = x[0] + x[2];
    y[0] = even + odd;
    y[1] = x[0] - x[2];
    y[2] = x[3] - x[1];
    y[3] = even - odd;
  } else {
    const int half = (radix - 1) / 2;
    V *sum = scratch, *difference = scratch + half;
    V total = sum[0] = x[0];
#pragma clang loop unroll(full)
    for (int j = 1; j <= half; ++j) {
      sum[j] = x[radix - j] + x[j];
      difference[j] = x[radix - j] - x[j];
      total = total + sum[j];
    }
    y[0] = total;
#pragma clang loop unroll(full)
    for (int l = 1; l <= half; ++l) {
      sumsOf<T, V, known>(radix, l, sum, difference, roots, &y[2 * l - 1], &y[2 * l]);
    }
  }
}

// radix real values from half their spectrum, not divided by the radix.
template <typename T, typename V, int known>
ISTHMUS_FFT_INLINE void realInverse(int radix, const V* y, V* x, V* scratch,
                                    TabulatedRoots<T> roots) {
  if constexpr (known == 2) {
    x[0] = y[0] + y[1];
    x[1] = y[0] - y[1];
  } else if constexpr (known == 4) {
    const V a = y[0] + y[3], b = y[0] - y[3], re = y[1] + y[1], im = y[2] + y[2];
    x[0] = a + re;
    x[2] = a - re;
    x[3] = b + im;
    x[1] = b - im;
  } else {
    const int half = (radix - 1) / 2;
    V *sum = scratch, *difference = scratch + half;
    V total = sum[0] = y[0];
#pragma clang loop unroll(full)
    for (int j = 1; j <= half; ++j) {
      sum[j] = y[2 * j - 1] + y[2 * j - 1];
      difference[j] = y[2 * j] + y[2 * j];
      total = total + sum[j];
    }
    x[0] = total;
#pragma clang loop unroll(full)
    for (int l = 1; l <= half; ++l) {
      V a, b;
      sumsOf<T, V, known>(radix, l, sum, difference, roots, &a, &b);
      x[l] = a - b;
      x[radix - l] = a + b;
    }
  }
}

// The same for values whose spectrum is shifted by half a step: what the last of an even number of
// positions needs.
template <typename T, typename V, int radix>
ISTHMUS_FFT_INLINE void shiftedButterfly(const V* x, V* y) {
  if constexpr (radix == 2) {
    y[0] = x[0];
    y[1] = -x[1];
  } else {
    constexpr T kHalfRoot = T(0.70710678118654752440084436210484904L);
    const V im = (x[1] + x[3]) * -kHalfRoot, re = (x[1] - x[3]) * kHalfRoot;
    y[0] = x[0] + re;
    y[1] = im - x[2];
    y[2] = x[0] - re;
    y[3] = im + x[2];
  }
}
template <typename T, typename V, int radix>
ISTHMUS_FFT_INLINE void shiftedInverse(const V* y, V* x) {
  if constexpr (radix == 2) {
    x[0] = y[0] + y[0];
    x[1] = y[1] * T(-2);
  } else {
    constexpr T kRoot = T(1.4142135623730950488016887242096980L);
    const V a = y[3] + y[1], b = y[3] - y[1], c = y[0] + y[2], d = y[0] - y[2];
    x[0] = c + c;
    x[1] = (d - a) * kRoot;
    x[2] = b + b;
    x[3] = (d + a) * -kRoot;
  }
}

// One stage: `count` transforms at each of `positions` positions. The side of time has value (k, j,
// i) at k + count * (j + radix * i), the side of frequency (k, i, m) at k + count * (i + positions
// * m), for k < count, i < positions and j, m < radix. Positions 2 p - 1 and 2 p are real and
// imaginary part of one value; its frequencies above radix / 2 are mirror images.
template <typename T, typename V, int known, bool inverse>
void stage(int anyRadix, int64_t count, int64_t positions, const V* in, V* out, const T* twiddleRe,
           const T* twiddleIm, TabulatedRoots<T> roots) {
  const int radix = known ? known : anyRadix;
  constexpr int kSize = known ? known : kMaxRealFftRadix;
  auto time = [=](int64_t j, int64_t i) { return count * (j + radix * i); };
  auto frequency = [=](int64_t i, int64_t m) { return count * (i + positions * m); };
  const int64_t last = positions - 1;
  {
    V x[kSize], y[kSize], scratch[known ? known : kMaxRealFftRadix];
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (inverse) {
        y[0] = in[k];
#pragma clang loop unroll(full)
        for (int m = 1; m < radix; ++m) y[m] = in[k + frequency(m % 2 ? last : 0, m)];
        realInverse<T, V, known>(radix, y, x, scratch, roots);
#pragma clang loop unroll(full)
        for (int j = 0; j < radix; ++j) out[k + time(j, 0)] = x[j];
      } else {
#pragma clang loop unroll(full)
        for (int j = 0; j < radix; ++j) x[j] = in[k + time(j, 0)];
        realButterfly<T, V, known>(radix, x, y, scratch, roots);
        out[k] = y[0];
#pragma clang loop unroll(full)
        for (int m = 1; m < radix; ++m) out[k + frequency(m % 2 ? last : 0, m)] = y[m];
      }
    }
  }
  if constexpr (known == 2 || known == 4) {
    if (positions % 2 == 0) {
      V x[known], y[known];
      for (int64_t k = 0; k < count; ++k) {
        if constexpr (inverse) {
#pragma clang loop unroll(full)
          for (int m = 0; m < known; ++m) y[m] = in[k + frequency(m % 2 ? 0 : last, m)];
          shiftedInverse<T, V, known>(y, x);
#pragma clang loop unroll(full)
          for (int j = 0; j < known; ++j) out[k + time(j, last)] = x[j];
        } else {
#pragma clang loop unroll(full)
          for (int j = 0; j < known; ++j) x[j] = in[k + time(j, last)];
          shiftedButterfly<T, V, known>(x, y);
#pragma clang loop unroll(full)
          for (int m = 0; m < known; ++m) out[k + frequency(m % 2 ? 0 : last, m)] = y[m];
        }
      }
    }
  }
  Complex<V> x[kSize], scratch[known ? 1 : kMaxRealFftRadix];
  for (int64_t p = 1; 2 * p < positions; ++p) {
    const int64_t re = 2 * p - 1, im = 2 * p, mirroredRe = last - im, mirroredIm = last - re;
    const T* wRe = twiddleRe + (p - 1) * (radix - 1);
    const T* wIm = twiddleIm + (p - 1) * (radix - 1);
    for (int64_t k = 0; k < count; ++k) {
      if constexpr (inverse) {
#pragma clang loop unroll(full)
        for (int m = 0; m < radix; ++m) {
          const int mirrored = 2 * (radix - m) - 1;
          const bool direct = 2 * m < radix;
          const V a = in[k + (direct ? frequency(re, 2 * m) : frequency(mirroredRe, mirrored))];
          const V b = in[k + (direct ? frequency(im, 2 * m) : frequency(mirroredIm, mirrored))];
          x[m] = exchanged(Complex<V>{a, direct ? b : -b});
        }
        knownOrOddButterfly<SumOrder::kFoursThenTwos, T, V, known>(radix, x, scratch, roots);
#pragma clang loop unroll(full)
        for (int j = 0; j < radix; ++j) {
          Complex<V> y = exchanged(x[j]);
          if (j > 0) y = times(y, wRe[j - 1], -wIm[j - 1]);
          out[k + time(j, re)] = y.re;
          out[k + time(j, im)] = y.im;
        }
      } else {
#pragma clang loop unroll(full)
        for (int j = 0; j < radix; ++j) {
          x[j] = {in[k + time(j, re)], in[k + time(j, im)]};
          if (j > 0) x[j] = times(x[j], wRe[j - 1], wIm[j - 1]);
        }
        knownOrOddButterfly<SumOrder::kFoursThenTwos, T, V, known>(radix, x, scratch, roots);
#pragma clang loop unroll(full)
        for (int m = 0; m < radix; ++m) {
          const int mirrored = 2 * (radix - m) - 1;
          const bool direct = 2 * m < radix;
          out[k + (direct ? frequency(re, 2 * m) : frequency(mirroredRe, mirrored))] = x[m].re;
          out[k + (direct ? frequency(im, 2 * m) : frequency(mirroredIm, mirrored))] =
              direct ? x[m].im : -x[m].im;
        }
      }
    }
  }
}

template <typename T, typename V, bool inverse>
bool transform(const FftStages<T>& s, T* valuesPtr, T* sparePtr) {
  V* values = reinterpret_cast<V*>(valuesPtr);
  V* spare = reinterpret_cast<V*>(sparePtr);
  const T* wRe = s.twiddleRe;
  const T* wIm = s.twiddleIm;
  TabulatedRoots<T> roots{s.rootRe, s.rootIm};
  // Count is the product of the radices of the stages before this one, in the order of `radices`.
  int64_t before = inverse ? 1 : s.n;
  bool swapped = false;
  for (int i = 0; i < s.count; ++i) {
    const int radix = s.radices[inverse ? i : s.count - 1 - i];
    if (!inverse) before /= radix;
    const int64_t positions = s.n / before / radix;
    withRadix<2, 3, 4, 5>(radix, [&](auto known) {
      stage<T, V, decltype(known)::value, inverse>(radix, before, positions, values, spare, wRe,
                                                   wIm, roots);
    });
    if (inverse) before *= radix;
    wRe += (positions - 1) / 2 * (radix - 1);
    wIm += (positions - 1) / 2 * (radix - 1);
    roots.re += radix;
    roots.im += radix;
    std::swap(values, spare);
    swapped = !swapped;
  }
  return swapped;
}

template <typename T, typename V>
void pair(int64_t n, const T* valuesPtr, T* rePtr, T* imPtr) {
  const V* values = reinterpret_cast<const V*>(valuesPtr);
  V* re = reinterpret_cast<V*>(rePtr);
  V* im = reinterpret_cast<V*>(imPtr);
  for (int64_t k = 0; k < n / 2; ++k) {
    re[k] = values[2 * k];
    im[k] = values[2 * k + 1];
  }
}
template <typename T, typename V>
void unpair(int64_t n, const T* rePtr, const T* imPtr, T* valuesPtr) {
  V* values = reinterpret_cast<V*>(valuesPtr);
  const V* re = reinterpret_cast<const V*>(rePtr);
  const V* im = reinterpret_cast<const V*>(imPtr);
  for (int64_t k = 0; k < n / 2; ++k) {
    values[2 * k] = re[k];
    values[2 * k + 1] = im[k];
  }
}

template <typename T, typename V>
void merge(int64_t n, const T* rootRe, const T* rootIm, const T* rePtr, const T* imPtr,
           T* halfPtr) {
  const V* re = reinterpret_cast<const V*>(rePtr);
  const V* im = reinterpret_cast<const V*>(imPtr);
  V* half = reinterpret_cast<V*>(halfPtr);
  // The first and the last bin of a real line are real, and have no twiddle factor.
  half[0] = re[0] + im[0];
  half[n - 1] = re[0] - im[0];
  // Bins k and m need each other's conjugate: both at once, by one twiddle factor. In the middle
  // they are the same bin, which is written twice.
  for (int64_t k = 1, m = n / 2 - 1; k <= m; ++k, --m) {
    const Complex<V> even{re[k] + re[m], im[k] - im[m]};
    const Complex<V> odd = times(Complex<V>{im[k] + im[m], re[m] - re[k]}, rootRe[k], -rootIm[k]);
    half[2 * k - 1] = (even.re + odd.re) * T(0.5);
    half[2 * k] = (even.im + odd.im) * T(0.5);
    half[2 * m - 1] = (even.re - odd.re) * T(0.5);
    half[2 * m] = (odd.im - even.im) * T(0.5);
  }
}
template <typename T, typename V>
void split(int64_t n, const T* rootRe, const T* rootIm, const T* halfPtr, T* rePtr, T* imPtr) {
  const V* half = reinterpret_cast<const V*>(halfPtr);
  V* re = reinterpret_cast<V*>(rePtr);
  V* im = reinterpret_cast<V*>(imPtr);
  re[0] = half[0] + half[n - 1];
  im[0] = half[0] - half[n - 1];
  for (int64_t k = 1, m = n / 2 - 1; k <= m; ++k, --m) {
    const Complex<V> a{half[2 * k - 1], half[2 * k]}, b{half[2 * m - 1], -half[2 * m]};
    const Complex<V> even = a + b, odd = times(a - b, rootRe[k], rootIm[k]);
    re[k] = even.re - odd.im;
    im[k] = even.im + odd.re;
    re[m] = even.re + odd.im;
    im[m] = odd.re - even.im;
  }
}

template <typename T>
constexpr RealFftKernels<T> kernels() {
  using V = Lanes<T>;
  return {transform<T, V, false>,
          transform<T, T, false>,
          transform<T, V, true>,
          transform<T, T, true>,
          pair<T, V>,
          pair<T, T>,
          unpair<T, V>,
          unpair<T, T>,
          merge<T, V>,
          merge<T, T>,
          split<T, V>,
          split<T, T>};
}

}  // namespace

RealFftKernels<float> realFftKernelsF32() { return kernels<float>(); }
RealFftKernels<double> realFftKernelsF64() { return kernels<double>(); }

}  // namespace isthmus::cpu::ISTHMUS_ISA
