// Stockham's self-sorting Fourier transform, decimated in frequency; compiled once per instruction
// set. Each stage reads one pair of arrays and writes the other.
#include "backends/cpu/kernels/block_transpose.h"
#include "backends/cpu/kernels/fft/fft_butterflies.h"
#include "backends/cpu/kernels/fft/fft_kernels.h"

namespace isthmus::cpu::ISTHMUS_ISA {
namespace {

// One p of a stage: `known` is the radix, or 0 for any odd one.
template <bool turns, typename T, typename V, int known>
ISTHMUS_FFT_INLINE void butterflies(int radix, int64_t p, int64_t m, int64_t stride, const V* re,
                                    const V* im, V* outRe, V* outIm, const T* wRe, const T* wIm,
                                    TabulatedRoots<T> roots) {
  Complex<V> x[known ? known : kMaxFftRadix], scratch[known ? 1 : kMaxFftRadix];
  for (int64_t q = 0; q < stride; ++q) {
#pragma clang loop unroll(full)
    for (int k = 0; k < radix; ++k) {
      const int64_t at = q + stride * (p + m * k);
      x[k] = {re[at], im[at]};
    }
    knownOrOddButterfly<SumOrder::kTwos, T, V, known>(radix, x, scratch, roots);
#pragma clang loop unroll(full)
    for (int j = 0; j < radix; ++j) {
      const int64_t at = q + stride * (radix * p + j);
      const Complex<V> y = turns && j > 0 ? times(x[j], wRe[j - 1], wIm[j - 1]) : x[j];
      outRe[at] = y.re;
      outIm[at] = y.im;
    }
  }
}

template <typename T, typename V, int known>
void stage(int anyRadix, int64_t m, int64_t stride, const V* re, const V* im, V* outRe, V* outIm,
           const T* twiddleRe, const T* twiddleIm, TabulatedRoots<T> roots) {
  const int radix = known ? known : anyRadix;
  // The twiddle factors of p = 0 are 1, which infinities would not survive.
  butterflies<false, T, V, known>(radix, 0, m, stride, re, im, outRe, outIm, twiddleRe, twiddleIm,
                                  roots);
  for (int64_t p = 1; p < m; ++p) {
    butterflies<true, T, V, known>(radix, p, m, stride, re, im, outRe, outIm,
                                   twiddleRe + p * (radix - 1), twiddleIm + p * (radix - 1), roots);
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
  TabulatedRoots<T> roots{s.rootRe, s.rootIm};
  int64_t n = s.n, stride = 1;
  bool swapped = false;
  for (int i = 0; i < s.count; ++i) {
    const int radix = s.radices[i];
    const int64_t m = n / radix;
    withRadix<2, 3, 4, 5, 7, 8, 11>(radix, [&](auto known) {
      stage<T, V, decltype(known)::value>(radix, m, stride, re, im, outRe, outIm, wRe, wIm, roots);
    });
    wRe += m * (radix - 1);
    wIm += m * (radix - 1);
    roots.re += radix;
    roots.im += radix;
    n = m;
    stride *= radix;
    std::swap(re, outRe);
    std::swap(im, outIm);
    swapped = !swapped;
  }
  return swapped;
}

template <typename T, typename V>
void multiply(int64_t count, const T* wRe, const T* wIm, T* re, T* im) {
  V* x = reinterpret_cast<V*>(re);
  V* y = reinterpret_cast<V*>(im);
  for (int64_t k = 0; k < count; ++k) {
    const Complex<V> product = times(Complex<V>{x[k], y[k]}, wRe[k], wIm[k]);
    x[k] = product.re;
    y[k] = product.im;
  }
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
void loadColumns(const T* data, int64_t stride, int64_t width, int64_t count, T* part) {
  constexpr int lanes = kFftLanes<T>;
  for (int64_t k = 0; k < count; ++k) {
    if (width == lanes) {
      store(part + k * lanes, load(data + k * stride));
      continue;
    }
    for (int64_t l = 0; l < lanes; ++l) {
      part[k * lanes + l] = l < width ? data[k * stride + l] : T(0);
    }
  }
}

template <typename T>
void storeColumns(const T* re, const T* im, const T* wRe, const T* wIm, int64_t stride,
                  int64_t width, int64_t count, T* outRe, T* outIm) {
  constexpr int lanes = kFftLanes<T>;
  for (int64_t k = 0; k < count; ++k) {
    if (width == lanes) {
      Complex<Lanes<T>> x{load(re + k * lanes), load(im + k * lanes)};
      if (wRe) x = times(x, load(wRe + k * stride), load(wIm + k * stride));
      store(outRe + k * stride, x.re);
      store(outIm + k * stride, x.im);
      continue;
    }
    for (int64_t l = 0; l < width; ++l) {
      Complex<T> x{re[k * lanes + l], im[k * lanes + l]};
      if (wRe) x = times(x, wRe[k * stride + l], wIm[k * stride + l]);
      outRe[k * stride + l] = x.re;
      outIm[k * stride + l] = x.im;
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
constexpr FftKernels<T> kernels() {
  return {
      transform<T, Lanes<T>>, transform<T, T>, multiply<T, Lanes<T>>, multiply<T, T>, loadLines<T>,
      storeLines<T>,          loadColumns<T>,  storeColumns<T>,       loadReal<T>,    storeReal<T>};
}

}  // namespace

FftKernels<float> fftKernelsF32() { return kernels<float>(); }
FftKernels<double> fftKernelsF64() { return kernels<double>(); }

}  // namespace isthmus::cpu::ISTHMUS_ISA
