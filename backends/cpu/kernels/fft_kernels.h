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
