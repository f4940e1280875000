// What a transform between real lines and half spectra of one length needs.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/cpu/kernels/fft/fft_plan.h"

namespace isthmus::cpu {

template <typename T>
class RealFftPlan {
 public:
  explicit RealFftPlan(int64_t n);

  // A plan from the process's cache, which keeps the recently used ones. Thread-safe.
  static std::shared_ptr<const RealFftPlan> get(int64_t n);

  int64_t length() const { return n_; }
  // Values of `work` per line.
  int64_t workLength() const;

  // Transforms the lines (kFftLanes of them, or one) in `values` to half spectra as RealFftKernels
  // has them, or back. Returns where the result is: in `values` or in `work`, with memory for one
  // more value per line before and behind it if there is such memory around `values`. Inverse
  // transforms are not divided by the length.
  T* transform(bool together, bool inverse, T* values, T* work) const;

 private:
  void transformPairs(bool together, bool inverse, T* values, T* work) const;
  void transformAsComplex(bool together, bool inverse, T* values, T* work) const;

  int64_t n_;
  FftStageTables<T> forward_, inverse_;
  // Instead of stages: for pairs of values (of length n / 2) or for values (of length n).
  std::shared_ptr<const FftPlan<T>> pairs_, complex_;
  std::vector<T> rootRe_, rootIm_;
};

}  // namespace isthmus::cpu
