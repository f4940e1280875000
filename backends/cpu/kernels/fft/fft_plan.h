// What a transform of one length needs: factors, twiddle factors, Bluestein's chirp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/fft/fft_kernels.h"

namespace isthmus::cpu {

class FftRoots;

// Whether stages alone can transform this length, without a convolution.
bool hasSmallFactors(int64_t n);

// The smallest length >= n without prime factors above 11.
int64_t smoothLength(int64_t n);

// Factors and tables of the stages of one transform.
template <typename T>
class FftStageTables {
 public:
  void append(int radix) { radices_.push_back(radix); }
  bool empty() const { return radices_.empty(); }
  // Roots are those of `total`, a multiple of n.
  void fillComplex(int64_t n, const FftRoots& roots, int64_t total);
  void fillReal(int64_t n, const FftRoots& roots, bool inverse);
  FftStages<T> view(int64_t n) const;

 private:
  void appendTwiddle(const FftRoots& roots, int64_t k);
  void appendRadixRoots(int64_t n, const FftRoots& roots, int radix);

  std::vector<int> radices_;
  std::vector<T> twiddleRe_, twiddleIm_, rootRe_, rootIm_;
};

// How DUCC orders the factors of a line: those of lines that are transformed beside others, or of a
// line that it splits in four to use vectors. The results differ in their roundings only.
enum class FftOrder { kGrouped, kAlone };

template <typename T>
class FftPlan {
 public:
  FftPlan(int64_t n, FftOrder order);

  // A plan from the process's cache, which keeps the recently used ones. Thread-safe.
  static std::shared_ptr<const FftPlan> get(int64_t n, FftOrder order);

  static FftKernels<T> kernels();

  int64_t length() const { return n_; }
  // Values that each array of `transform` must hold, per line.
  int64_t scratchLength() const { return scratchLength_; }

  // Transforms the lines (kFftLanes of them, or one) in re, im; result as in FftTransform. Inverse
  // ones are not divided by the length.
  bool transform(bool together, bool inverse, T* re, T* im, T* spareRe, T* spareIm) const;

 private:
  FftPlan(int64_t n, const FftRoots& roots, int64_t total);

  void plan(const FftRoots& roots, int64_t total, bool inFour);
  void planGrid(const FftRoots& roots, int64_t total);
  void planConvolution(const FftRoots& roots, int64_t total);
  bool transformGrid(bool together, bool inverse, T* re, T* im, T* spareRe, T* spareIm) const;
  bool transformByConvolution(bool together, bool inverse, T* re, T* im, T* spareRe,
                              T* spareIm) const;

  int64_t n_;
  int64_t scratchLength_;
  FftStageTables<T> stages_;
  // Long lines as a grid of columns and rows, which fit in the cache: columns_ are transformed,
  // multiplied by gridRe_ + i gridIm_, and then rows_.
  std::unique_ptr<FftPlan> columns_, rows_;
  std::vector<T> gridRe_, gridIm_;
  // Bluestein: the transform as a convolution with a chirp, by transforms of a smooth length.
  std::unique_ptr<FftPlan> convolution_;
  std::vector<T> chirpRe_, chirpIm_, filterRe_, filterIm_;
};

}  // namespace isthmus::cpu
