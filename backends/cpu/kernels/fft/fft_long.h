// Transforms of long lines, each by all threads if need be.
//
// A line of rows * columns values is a matrix: its columns are transformed, several at a time, the
// results multiplied by roots of unity, and the rows transformed (Bailey's four steps). Both kinds
// of short lines stay in the core's own cache. Lengths with a large prime factor go through
// Bluestein's convolution of a length without; real lines of even length are complex ones of half.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/fft/fft.h"
#include "backends/cpu/kernels/fft/fft_plan.h"

namespace isthmus::cpu {

template <typename T>
class LongFft {
 public:
  explicit LongFft(int64_t n);

  // The plan for `lines` lines of `n` values (of the real side), from the process's cache; null if
  // they are better transformed as short lines. Thread-safe.
  static std::shared_ptr<const LongFft> get(FftType type, int64_t n, int64_t lines);

  // Whether the length has a plan at all.
  bool isUsable() const { return rows_ > 0 || convolution_; }

  // Transforms one line of the length that `get` was given; false if there is no memory. Complex
  // lines may be transformed in place.
  bool run(RunServices& services, FftType type, const T* source, T* target, T scale) const;

 private:
  void planFourSteps(int64_t rows);
  void planConvolution();
  void planHalf();
  bool complexLine(RunServices& services, bool inverse, const T* source, T* target, T scale) const;
  bool convolve(RunServices& services, bool inverse, const T* source, T* target, T scale) const;
  bool halfOfReal(RunServices& services, FftType type, const T* source, T* target, T scale) const;
  bool oddReal(RunServices& services, FftType type, const T* source, T* target, T scale) const;

  int64_t n_;
  int64_t rows_ = 0, columns_ = 0;
  std::vector<T> twiddleRe_, twiddleIm_;  // as in Pass
  // Real and imaginary parts beside each other: the chirp, and the transform of its conjugate.
  std::shared_ptr<const LongFft> convolution_;
  std::vector<T> chirp_, filter_;
  // If this is the plan of half a real line: exp(-2 pi i k / (2 n)) for 0 <= k <= n / 2.
  std::vector<T> realTwiddles_;
  bool isHalf_ = false;
};

}  // namespace isthmus::cpu
