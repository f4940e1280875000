// The stages of a mixed-radix Fourier transform.
#pragma once

#include <cstdint>

namespace isthmus::cpu {

// Real and imaginary parts are apart. Value k of line l is at [k * lanes + l].
template <typename T>
struct FftStages {
  int64_t n;
  int count;
  const int* radices;
  // For each stage, of size s = radix * m: exp(-2 pi i p j / s) for p < m, 0 < j < radix.
  const T* twiddleRe;
  const T* twiddleIm;
  // For each stage: exp(-2 pi i j / radix) for j < radix.
  const T* rootRe;
  const T* rootIm;
};

// Lines that are transformed together.
template <typename T>
inline constexpr int kFftLanes = 32 / static_cast<int>(sizeof(T));

// Radices above this are too dear: such lengths go through Bluestein's algorithm.
inline constexpr int kMaxFftRadix = 31;

// Transforms kFftLanes lines (together) or one; true if the result is in the spare arrays, and not
// in the first ones. All four arrays are overwritten.
template <typename T>
using FftTransform = bool (*)(const FftStages<T>& stages, T* re, T* im, T* spareRe, T* spareIm);

template <typename T>
struct FftKernels {
  FftTransform<T> together;
  FftTransform<T> single;

  // Between kFftLanes lines of `count` values in memory and the form that is transformed together.
  // Value k of line l is at data[2 * (l * lineStride + k * valueStride)], with the imaginary part
  // behind the real one; one of the strides is 1.
  void (*loadLines)(const T* data, int64_t lineStride, int64_t valueStride, int64_t count, T* re,
                    T* im);
  void (*storeLines)(const T* re, const T* im, T scale, int64_t count, T* data, int64_t lineStride,
                     int64_t valueStride);
  // The same for one part: value k of line l is at data[l * lineStride + k].
  void (*loadReal)(const T* data, int64_t lineStride, int64_t count, T* part);
  void (*storeReal)(const T* part, T scale, int64_t count, T* data, int64_t lineStride);
  // The first n / 2 + 1 values of the spectra of real lines a and b from that of a + i b.
  void (*splitSpectra)(int64_t n, const T* re, const T* im, T* aRe, T* aIm, T* bRe, T* bIm);
};

namespace v2 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
}  // namespace v2
namespace v3 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
}  // namespace v3
namespace v4 {
FftKernels<float> fftKernelsF32();
FftKernels<double> fftKernelsF64();
}  // namespace v4

}  // namespace isthmus::cpu
