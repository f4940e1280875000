#include "backends/cpu/kernels/fft/fft_real_plan.h"

#include <algorithm>

#include "backends/cpu/kernels/fft/fft_plan_cache.h"
#include "backends/cpu/kernels/fft/fft_roots.h"
#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu {
namespace {

template <typename T>
RealFftKernels<T> kernels() {
  if constexpr (sizeof(T) == 4) {
    return forHost(v2::realFftKernelsF32, v3::realFftKernelsF32, v4::realFftKernelsF32)();
  } else {
    return forHost(v2::realFftKernelsF64, v3::realFftKernelsF64, v4::realFftKernelsF64)();
  }
}

// Even radices first, since only they can follow an even number of positions.
std::vector<int64_t> factor(int64_t n) {
  std::vector<int64_t> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  if (n % 2 == 0) {
    radices.push_back(2);
    std::swap(radices.front(), radices.back());
    n /= 2;
  }
  for (int64_t radix = 3; radix * radix <= n; radix += 2) {
    for (; n % radix == 0; n /= radix) radices.push_back(radix);
  }
  if (n > 1) radices.push_back(n);
  return radices;
}

}  // namespace

template <typename T>
RealFftPlan<T>::RealFftPlan(int64_t n) : n_(n) {
  const std::vector<int64_t> radices = factor(n);
  const int64_t largest = radices.empty() ? 1 : *std::max_element(radices.begin(), radices.end());
  // Long lines are cheaper by pairs, and the complex stages have the better large radices.
  if (n > 1000 && n % 2 == 0 && (n > 10000 || largest > 5)) {
    pairs_ = FftPlan<T>::get(n / 2, FftOrder::kGrouped);
    const FftRoots roots(n);
    for (int64_t k = 0; k <= n / 4; ++k) {
      rootRe_.push_back(static_cast<T>(roots[k].re));
      rootIm_.push_back(static_cast<T>(roots[k].im));
    }
  } else if (largest > kMaxRealFftRadix) {
    complex_ = FftPlan<T>::get(n, FftOrder::kGrouped);
  } else {
    const FftRoots roots(n);
    for (int64_t radix : radices) {
      forward_.append(static_cast<int>(radix));
      inverse_.append(static_cast<int>(radix));
    }
    forward_.fillReal(n, roots, false);
    inverse_.fillReal(n, roots, true);
  }
}

template <typename T>
int64_t RealFftPlan<T>::workLength() const {
  if (pairs_) return 4 * pairs_->scratchLength();
  if (complex_) return 4 * complex_->scratchLength();
  return n_ + 2;
}

template <typename T>
T* RealFftPlan<T>::transform(bool together, bool inverse, T* values, T* work) const {
  if (pairs_) {
    transformPairs(together, inverse, values, work);
    return values;
  }
  if (complex_) {
    transformAsComplex(together, inverse, values, work);
    return values;
  }
  T* spare = work + (together ? kFftLanes<T> : 1);
  const RealFftKernels<T> k = kernels<T>();
  const bool moved =
      inverse ? (together ? k.inverseTogether : k.inverseSingle)(inverse_.view(n_), values, spare)
              : (together ? k.forwardTogether : k.forwardSingle)(forward_.view(n_), values, spare);
  return moved ? spare : values;
}

template <typename T>
void RealFftPlan<T>::transformPairs(bool together, bool inverse, T* values, T* work) const {
  const RealFftKernels<T> k = kernels<T>();
  const int64_t size = pairs_->scratchLength() * (together ? kFftLanes<T> : 1);
  T *re = work, *im = re + size, *spareRe = im + size, *spareIm = spareRe + size;
  const auto pair = together ? k.pairTogether : k.pairSingle;
  const auto unpair = together ? k.unpairTogether : k.unpairSingle;
  const auto merge = together ? k.mergeTogether : k.mergeSingle;
  const auto split = together ? k.splitTogether : k.splitSingle;
  if (inverse) {
    split(n_, rootRe_.data(), rootIm_.data(), values, re, im);
  } else {
    pair(n_, values, re, im);
  }
  if (pairs_->transform(together, inverse, re, im, spareRe, spareIm)) re = spareRe, im = spareIm;
  if (inverse) {
    unpair(n_, re, im, values);
  } else {
    merge(n_, rootRe_.data(), rootIm_.data(), re, im, values);
  }
}

template <typename T>
void RealFftPlan<T>::transformAsComplex(bool together, bool inverse, T* values, T* work) const {
  const int64_t lanes = together ? kFftLanes<T> : 1;
  const int64_t size = complex_->scratchLength() * lanes;
  T *re = work, *im = re + size, *spareRe = im + size, *spareIm = spareRe + size;
  auto copy = [lanes](const T* from, T* to, int64_t source, int64_t target) {
    std::copy_n(from + source * lanes, lanes, to + target * lanes);
  };
  std::fill_n(im, n_ * lanes, T(0));
  if (inverse) {
    copy(values, re, 0, 0);
    for (int64_t k = 1; 2 * k <= n_; ++k) {
      copy(values, re, 2 * k - 1, k);
      copy(values, re, 2 * k - 1, n_ - k);
      if (2 * k == n_) break;
      copy(values, im, 2 * k, k);
      for (int64_t l = 0; l < lanes; ++l) im[(n_ - k) * lanes + l] = -im[k * lanes + l];
    }
  } else {
    std::copy_n(values, n_ * lanes, re);
  }
  if (complex_->transform(together, inverse, re, im, spareRe, spareIm)) re = spareRe, im = spareIm;
  if (inverse) {
    std::copy_n(re, n_ * lanes, values);
    return;
  }
  copy(re, values, 0, 0);
  for (int64_t k = 1; 2 * k <= n_; ++k) {
    copy(re, values, k, 2 * k - 1);
    if (2 * k < n_) copy(im, values, k, 2 * k);
  }
}

template <typename T>
std::shared_ptr<const RealFftPlan<T>> RealFftPlan<T>::get(int64_t n) {
  static FftPlanCache<int64_t, RealFftPlan, 64> plans;
  return plans.get(n, [&] { return std::make_shared<const RealFftPlan>(n); });
}

template class RealFftPlan<float>;
template class RealFftPlan<double>;

}  // namespace isthmus::cpu
