// Stockham's self-sorting Fourier transform, decimated in frequency; compiled once per instruction
// set. Each stage reads one pair of arrays and writes the other.
#include "backends/cpu/kernels/block_transpose.h"
#include "backends/cpu/kernels/fft_kernels.h"

#ifndef ISTHMUS_ISA
#error "compile this file with ISTHMUS_ISA set to v2, v3 or v4"
#endif

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

template <typename T>
using Lanes __attribute__((vector_size(32))) = T;

template <typename V>
struct Complex {
  V re, im;
};

template <typename V>
inline __attribute__((always_inline)) Complex<V> operator+(Complex<V> a, Complex<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename V>
inline __attribute__((always_inline)) Complex<V> operator-(Complex<V> a, Complex<V> b) {
  return {a.re - b.re, a.im - b.im};
}
// Times -i.
template <typename V>
inline __attribute__((always_inline)) Complex<V> turn(Complex<V> a) {
  return {a.im, -a.re};
}
template <typename T, typename V>
inline __attribute__((always_inline)) Complex<V> times(Complex<V> a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
template <typename T, typename V>
inline __attribute__((always_inline)) Complex<V> scale(Complex<V> a, T s) {
  return {a.re * s, a.im * s};
}

template <typename T, typename V, int radix>
inline __attribute__((always_inline)) void butterfly(Complex<V>* x) {
  if constexpr (radix == 2) {
    Complex<V> a = x[0], b = x[1];
    x[0] = a + b;
    x[1] = a - b;
  } else if constexpr (radix == 3) {
    constexpr T kSin = T(0.86602540378443864676372317075293618L);
    Complex<V> sum = x[1] + x[2], difference = turn(scale(x[1] - x[2], kSin));
    Complex<V> middle = x[0] - scale(sum, T(0.5));
    x[0] = x[0] + sum;
    x[1] = middle + difference;
    x[2] = middle - difference;
  } else if constexpr (radix == 4) {
    Complex<V> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = turn(x[1] - x[3]);
    x[0] = a + c;
    x[1] = b + d;
    x[2] = a - c;
    x[3] = b - d;
  } else if constexpr (radix == 5) {
    constexpr T c1 = T(0.30901699437494742410229341718281906L);
    constexpr T c2 = T(-0.80901699437494742410229341718281906L);
    constexpr T s1 = T(0.95105651629515357211643933337938214L);
    constexpr T s2 = T(0.58778525229247312916870595463907277L);
    Complex<V> p1 = x[1] + x[4], m1 = x[1] - x[4], p2 = x[2] + x[3], m2 = x[2] - x[3];
    Complex<V> a1 = x[0] + scale(p1, c1) + scale(p2, c2);
    Complex<V> a2 = x[0] + scale(p1, c2) + scale(p2, c1);
    Complex<V> b1 = turn(scale(m1, s1) + scale(m2, s2));
    Complex<V> b2 = turn(scale(m1, s2) - scale(m2, s1));
    x[0] = x[0] + p1 + p2;
    x[1] = a1 + b1;
    x[4] = a1 - b1;
    x[2] = a2 + b2;
    x[3] = a2 - b2;
  }
}

template <typename T, typename V, int radix>
void stage(int64_t m, int64_t stride, const V* re, const V* im, V* outRe, V* outIm,
           const T* twiddleRe, const T* twiddleIm) {
  for (int64_t p = 0; p < m; ++p) {
    const T* wRe = twiddleRe + p * (radix - 1);
    const T* wIm = twiddleIm + p * (radix - 1);
    for (int64_t q = 0; q < stride; ++q) {
      Complex<V> x[radix];
#pragma clang loop unroll(full)
      for (int k = 0; k < radix; ++k) {
        const int64_t at = q + stride * (p + m * k);
        x[k] = {re[at], im[at]};
      }
      butterfly<T, V, radix>(x);
#pragma clang loop unroll(full)
      for (int j = 0; j < radix; ++j) {
        const int64_t at = q + stride * (radix * p + j);
        Complex<V> y = j == 0 ? x[0] : times(x[j], wRe[j - 1], wIm[j - 1]);
        outRe[at] = y.re;
        outIm[at] = y.im;
      }
    }
  }
}

template <typename T, typename V>
void anyStage(int radix, int64_t m, int64_t stride, const V* re, const V* im, V* outRe, V* outIm,
              const T* twiddleRe, const T* twiddleIm, const T* rootRe, const T* rootIm) {
  Complex<V> x[kMaxFftRadix];
  for (int64_t p = 0; p < m; ++p) {
    for (int64_t q = 0; q < stride; ++q) {
      for (int k = 0; k < radix; ++k) {
        const int64_t at = q + stride * (p + m * k);
        x[k] = {re[at], im[at]};
      }
      for (int j = 0; j < radix; ++j) {
        Complex<V> sum = x[0];
        for (int k = 1, power = j; k < radix; ++k) {
          sum = sum + times(x[k], rootRe[power], rootIm[power]);
          power += j;
          if (power >= radix) power -= radix;
        }
        const int64_t w = p * (radix - 1) + j - 1;
        if (j > 0) sum = times(sum, twiddleRe[w], twiddleIm[w]);
        const int64_t at = q + stride * (radix * p + j);
        outRe[at] = sum.re;
        outIm[at] = sum.im;
      }
    }
  }
}

template <typename T, typename V>
bool transform(const FftStages<T>& s, T* rePtr, T* imPtr, T* spareRePtr, T* spareImPtr) {
  V* re = reinterpret_cast<V*>(rePtr);
  V* im = reinterpret_cast<V*>(imPtr);
  V* outRe = reinterpret_cast<V*>(spareRePtr);
  V* outIm = reinterpret_cast<V*>(spareImPtr);
  const T* wRe = s.twiddleRe;
  const T* wIm = s.twiddleIm;
  const T* rootRe = s.rootRe;
  const T* rootIm = s.rootIm;
  int64_t n = s.n, stride = 1;
  bool swapped = false;
  for (int i = 0; i < s.count; ++i) {
    const int radix = s.radices[i];
    const int64_t m = n / radix;
    switch (radix) {
      case 2:
        stage<T, V, 2>(m, stride, re, im, outRe, outIm, wRe, wIm);
        break;
      case 3:
        stage<T, V, 3>(m, stride, re, im, outRe, outIm, wRe, wIm);
        break;
      case 4:
        stage<T, V, 4>(m, stride, re, im, outRe, outIm, wRe, wIm);
        break;
      case 5:
        stage<T, V, 5>(m, stride, re, im, outRe, outIm, wRe, wIm);
        break;
      default:
        anyStage<T, V>(radix, m, stride, re, im, outRe, outIm, wRe, wIm, rootRe, rootIm);
    }
    wRe += m * (radix - 1);
    wIm += m * (radix - 1);
    rootRe += radix;
    rootIm += radix;
    n = m;
    stride *= radix;
    V* t = re;
    re = outRe;
    outRe = t;
    t = im;
    im = outIm;
    outIm = t;
    swapped = !swapped;
  }
  return swapped;
}

// ---- Between memory and lanes -------------------------------------------------------------------

// (An alias template would lose the alignment.)
template <typename T>
struct LooseOf {
  typedef T Type __attribute__((vector_size(32), aligned(1), may_alias));
};
template <typename T>
using Loose = typename LooseOf<T>::Type;

template <typename T>
inline __attribute__((always_inline)) Lanes<T> load(const T* p) {
  return *reinterpret_cast<const Loose<T>*>(p);
}
template <typename T>
inline __attribute__((always_inline)) void store(T* p, Lanes<T> v) {
  *reinterpret_cast<Loose<T>*>(p) = v;
}

template <typename T>
void loadLines(const T* data, int64_t lineStride, int64_t valueStride, int64_t count, T* re,
               T* im) {
  constexpr int lanes = kFftLanes<T>, values = lanes / 2;
  if (lineStride == 1) {
    for (int64_t k = 0; k < count; ++k) {
      const T* p = data + 2 * k * valueStride;
      Lanes<T> a = load(p), b = load(p + lanes);
      if constexpr (lanes == 8) {
        store(re + k * lanes, __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14));
        store(im + k * lanes, __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15));
      } else {
        store(re + k * lanes, __builtin_shufflevector(a, b, 0, 2, 4, 6));
        store(im + k * lanes, __builtin_shufflevector(a, b, 1, 3, 5, 7));
      }
    }
    return;
  }
  int64_t k = 0;
  for (; k + values <= count; k += values) {
    Lanes<T> r[lanes];
#pragma clang loop unroll(full)
    for (int l = 0; l < lanes; ++l) r[l] = load(data + 2 * (l * lineStride + k));
    transposeBlock<Lanes<T>, lanes>(r);
#pragma clang loop unroll(full)
    for (int v = 0; v < values; ++v) {
      store(re + (k + v) * lanes, r[2 * v]);
      store(im + (k + v) * lanes, r[2 * v + 1]);
    }
  }
  for (; k < count; ++k) {
    for (int l = 0; l < lanes; ++l) {
      re[k * lanes + l] = data[2 * (l * lineStride + k)];
      im[k * lanes + l] = data[2 * (l * lineStride + k) + 1];
    }
  }
}

template <typename T>
void storeLines(const T* re, const T* im, T scale, int64_t count, T* data, int64_t lineStride,
                int64_t valueStride) {
  constexpr int lanes = kFftLanes<T>, values = lanes / 2;
  if (lineStride == 1) {
    for (int64_t k = 0; k < count; ++k) {
      T* p = data + 2 * k * valueStride;
      Lanes<T> a = load(re + k * lanes) * scale, b = load(im + k * lanes) * scale;
      if constexpr (lanes == 8) {
        store(p, __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
        store(p + lanes, __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
      } else {
        store(p, __builtin_shufflevector(a, b, 0, 4, 1, 5));
        store(p + lanes, __builtin_shufflevector(a, b, 2, 6, 3, 7));
      }
    }
    return;
  }
  int64_t k = 0;
  for (; k + values <= count; k += values) {
    Lanes<T> r[lanes];
#pragma clang loop unroll(full)
    for (int v = 0; v < values; ++v) {
      r[2 * v] = load(re + (k + v) * lanes) * scale;
      r[2 * v + 1] = load(im + (k + v) * lanes) * scale;
    }
    transposeBlock<Lanes<T>, lanes>(r);
#pragma clang loop unroll(full)
    for (int l = 0; l < lanes; ++l) store(data + 2 * (l * lineStride + k), r[l]);
  }
  for (; k < count; ++k) {
    for (int l = 0; l < lanes; ++l) {
      data[2 * (l * lineStride + k)] = re[k * lanes + l] * scale;
      data[2 * (l * lineStride + k) + 1] = im[k * lanes + l] * scale;
    }
  }
}

template <typename T>
void loadReal(const T* data, int64_t lineStride, int64_t count, T* part) {
  constexpr int lanes = kFftLanes<T>;
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    Lanes<T> r[lanes];
#pragma clang loop unroll(full)
    for (int l = 0; l < lanes; ++l) r[l] = load(data + l * lineStride + k);
    transposeBlock<Lanes<T>, lanes>(r);
#pragma clang loop unroll(full)
    for (int v = 0; v < lanes; ++v) store(part + (k + v) * lanes, r[v]);
  }
  for (; k < count; ++k) {
    for (int l = 0; l < lanes; ++l) part[k * lanes + l] = data[l * lineStride + k];
  }
}

template <typename T>
void storeReal(const T* part, T scale, int64_t count, T* data, int64_t lineStride) {
  constexpr int lanes = kFftLanes<T>;
  int64_t k = 0;
  for (; k + lanes <= count; k += lanes) {
    Lanes<T> r[lanes];
#pragma clang loop unroll(full)
    for (int v = 0; v < lanes; ++v) r[v] = load(part + (k + v) * lanes) * scale;
    transposeBlock<Lanes<T>, lanes>(r);
#pragma clang loop unroll(full)
    for (int l = 0; l < lanes; ++l) store(data + l * lineStride + k, r[l]);
  }
  for (; k < count; ++k) {
    for (int l = 0; l < lanes; ++l) data[l * lineStride + k] = part[k * lanes + l] * scale;
  }
}

template <typename T>
void splitSpectra(int64_t n, const T* re, const T* im, T* aRe, T* aIm, T* bRe, T* bIm) {
  constexpr int lanes = kFftLanes<T>;
  const T half = T(0.5);
  for (int64_t k = 0; k <= n / 2; ++k) {
    const int64_t at = k * lanes, mirrored = (k == 0 ? 0 : n - k) * lanes;
    Lanes<T> x = load(re + at), y = load(im + at), u = load(re + mirrored), v = load(im + mirrored);
    store(aRe + at, (x + u) * half);
    store(aIm + at, (y - v) * half);
    store(bRe + at, (y + v) * half);
    store(bIm + at, (u - x) * half);
  }
}

template <typename T>
constexpr FftKernels<T> kernels() {
  return {transform<T, Lanes<T>>, transform<T, T>, loadLines<T>, storeLines<T>, loadReal<T>,
          storeReal<T>,           splitSpectra<T>};
}

}  // namespace

FftKernels<float> fftKernelsF32() { return kernels<float>(); }
FftKernels<double> fftKernelsF64() { return kernels<double>(); }

}  // namespace isthmus::cpu::ISTHMUS_ISA
