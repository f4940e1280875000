// What a transform of one length needs: factors, twiddle factors, Bluestein's chirp.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/fft_kernels.h"

namespace isthmus::cpu {

template <typename T>
class FftPlan {
 public:
  explicit FftPlan(int64_t n);

  // A plan from the process's cache, which keeps the recently used ones. Thread-safe.
  static std::shared_ptr<const FftPlan> get(int64_t n);

  static FftKernels<T> kernels();

  int64_t length() const { return n_; }
  // Values that each array of `transform` must hold, per line.
  int64_t scratchLength() const { return convolution_ ? convolution_->length() : n_; }

  // Transforms the lines (kFftLanes of them, or one) in re, im forward; result as in FftTransform.
  bool transform(bool together, T* re, T* im, T* spareRe, T* spareIm) const;

 private:
  void planStages();
  void planConvolution();

  int64_t n_;
  std::vector<int> radices_;
  std::vector<T> twiddleRe_, twiddleIm_, rootRe_, rootIm_;
  // Bluestein: the transform as a convolution with a chirp, by transforms of a smooth length.
  std::unique_ptr<FftPlan> convolution_;
  std::vector<T> chirpRe_, chirpIm_, filterRe_, filterIm_;
};

}  // namespace isthmus::cpu
