// The stages of mixed-radix Fourier transforms, complex and real.
#pragma once

#include <cstdint>

namespace isthmus::cpu {

// Real and imaginary parts are apart. Value k of line l is at [k * lanes + l].
template <typename T>
struct FftStages {
  int64_t n;
  int count;
  const int* radices;
  // For each stage, of size s = radix * m: exp(-2 pi i p j / s) for 0 <= p < m, 0 < j < radix. In
  // real transforms, whose stages go from the last to the first if they are forward, for
  // 0 < p <= (m - 1) / 2.
  const T* twiddleRe;
  const T* twiddleIm;
  // For each stage: exp(-2 pi i j / radix) for j < radix.
  const T* rootRe;
  const T* rootIm;
};

// Lines that are transformed together.
template <typename T>
inline constexpr int kFftLanes = 32 / static_cast<int>(sizeof(T));

// Prime factors above this are too dear: such lengths go through Bluestein's algorithm.
inline constexpr int kMaxFftRadix = 109;
inline constexpr int kMaxRealFftRadix = 133;

// Transforms kFftLanes lines (together) or one forward; true if the result is in the spare arrays,
// and not in the first ones. All four arrays are overwritten.
template <typename T>
using FftTransform = bool (*)(const FftStages<T>& stages, T* re, T* im, T* spareRe, T* spareIm);

// The steps of complex transforms, by one instruction set: of kFftLanes lines (together) or of one
// (single). The functions are for any thread, allocate nothing and cannot fail; counts and strides
// are in values of T, and arrays of a call do not overlap.
template <typename T>
struct FftKernels {
  FftTransform<T> together;
  FftTransform<T> single;

  // Multiplies value k of all lines by wRe[k] + i wIm[k].
  void (*multiplyTogether)(int64_t count, const T* wRe, const T* wIm, T* re, T* im);
  void (*multiplySingle)(int64_t count, const T* wRe, const T* wIm, T* re, T* im);

  // Between kFftLanes lines of `count` values in memory and the form that is transformed together.
  // Value k of line l is at data[2 * (l * lineStride + k * valueStride)], with the imaginary part
  // behind the real one; one of the strides is 1.
  void (*loadLines)(const T* data, int64_t lineStride, int64_t valueStride, int64_t count, T* re,
                    T* im);
  void (*storeLines)(const T* re, const T* im, T scale, int64_t count, T* data, int64_t lineStride,
                     int64_t valueStride);
  // The same for one part, which may be a column: `width` of the kFftLanes lines, value k of line l
  // at data[l + k * stride]. Storing multiplies value k of line l by the complex value at w[l + k *
  // stride] unless w is null.
  void (*loadColumns)(const T* data, int64_t stride, int64_t width, int64_t count, T* part);
  void (*storeColumns)(const T* re, const T* im, const T* wRe, const T* wIm, int64_t stride,
                       int64_t width, int64_t count, T* outRe, T* outIm);
  // Value k of line l is at data[l * lineStride + k].
  void (*loadReal)(const T* data, int64_t lineStride, int64_t count, T* part);
  void (*storeReal)(const T* part, T scale, int64_t count, T* data, int64_t lineStride);
};

// Transforms of real lines. Half of a spectrum is stored as its real value 0, then real and
// imaginary parts of values 1, 2, ..., and, for even n, the real value n / 2: n values.
template <typename T>
struct RealFftKernels {
  // From real values to half a spectrum, or back. True if the result is in `spare`.
  using Transform = bool (*)(const FftStages<T>& stages, T* values, T* spare);
  Transform forwardTogether, forwardSingle, inverseTogether, inverseSingle;

  // Real lines of even length n as complex ones of length n / 2: even values are real parts.
  void (*pairTogether)(int64_t n, const T* values, T* re, T* im);
  void (*pairSingle)(int64_t n, const T* values, T* re, T* im);
  void (*unpairTogether)(int64_t n, const T* re, const T* im, T* values);
  void (*unpairSingle)(int64_t n, const T* re, const T* im, T* values);
  // From the spectrum of the pairs to the half of that of the values, and back. Roots:
  // exp(2 pi i k / n) for k <= n / 4.
  void (*mergeTogether)(int64_t n, const T* rootRe, const T* rootIm, const T* re, const T* im,
                        T* half);
  void (*mergeSingle)(int64_t n, const T* rootRe, const T* rootIm, const T* re, const T* im,
                      T* half);
  void (*splitTogether)(int64_t n, const T* rootRe, const T* rootIm, const T* half, T* re, T* im);
  void (*splitSingle)(int64_t n, const T* rootRe, const T* rootIm, const T* half, T* re, T* im);
};

namespace v2 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
RealFftKernels<float> realFftKernelsF32();
RealFftKernels<double> realFftKernelsF64();
}  // namespace v2
namespace v3 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
RealFftKernels<float> realFftKernelsF32();
RealFftKernels<double> realFftKernelsF64();
}  // namespace v3
namespace v4 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
RealFftKernels<float> realFftKernelsF32();
RealFftKernels<double> realFftKernelsF64();
}  // namespace v4

}  // namespace isthmus::cpu
