// Factors lengths and tabulates roots of unity.
#include "backends/cpu/kernels/fft_plan.h"

#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu {
namespace {

struct Root {
  double re, im;
};

// exp(-2 pi i k / n) for 0 <= k < n, with the angle reduced to an eighth of the circle, where sine
// and cosine are accurate to the last bit.
Root unityRoot(int64_t k, int64_t n) {
  auto angle = [&](int64_t eighths) {  // of the circle, times n
    return 2.0 * std::numbers::pi * (static_cast<double>(eighths) / (8.0 * static_cast<double>(n)));
  };
  int64_t at = 8 * k;  // in units of 1 / (8 n) of the circle
  const int64_t octant = at / n;
  switch (octant) {
    case 0:
      return {std::cos(angle(at)), -std::sin(angle(at))};
    case 1:
      return {std::sin(angle(2 * n - at)), -std::cos(angle(2 * n - at))};
    case 2:
      return {-std::sin(angle(at - 2 * n)), -std::cos(angle(at - 2 * n))};
    case 3:
      return {-std::cos(angle(4 * n - at)), -std::sin(angle(4 * n - at))};
    case 4:
      return {-std::cos(angle(at - 4 * n)), std::sin(angle(at - 4 * n))};
    case 5:
      return {-std::sin(angle(6 * n - at)), std::cos(angle(6 * n - at))};
    case 6:
      return {std::sin(angle(at - 6 * n)), std::cos(angle(at - 6 * n))};
    default:
      return {std::cos(angle(8 * n - at)), std::sin(angle(8 * n - at))};
  }
}

// Fours first: they are the cheapest per point. Empty if a prime factor is too large.
std::vector<int> factor(int64_t n) {
  std::vector<int> radices;
  for (int radix : {4, 2, 3, 5}) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  }
  for (int radix = 7; radix <= kMaxFftRadix && n > 1; radix += 2) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  }
  if (n > 1) radices.clear();
  return radices;
}

// The smallest length >= n with factors 2, 3 and 5 only.
int64_t smoothLength(int64_t n) {
  for (int64_t candidate = n;; ++candidate) {
    int64_t rest = candidate;
    for (int prime : {2, 3, 5}) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return candidate;
  }
}

}  // namespace

template <typename T>
FftKernels<T> FftPlan<T>::kernels() {
  const Isa isa = hostIsa();
  if constexpr (sizeof(T) == 4) {
    return isa == Isa::kV4   ? v4::fftKernelsF32()
           : isa == Isa::kV3 ? v3::fftKernelsF32()
                             : v2::fftKernelsF32();
  } else {
    return isa == Isa::kV4   ? v4::fftKernelsF64()
           : isa == Isa::kV3 ? v3::fftKernelsF64()
                             : v2::fftKernelsF64();
  }
}

template <typename T>
FftPlan<T>::FftPlan(int64_t n) : n_(n), radices_(factor(n)) {
  if (radices_.empty() && n > 1) {
    planConvolution();
  } else {
    planStages();
  }
}

template <typename T>
void FftPlan<T>::planStages() {
  int64_t size = n_;
  for (int radix : radices_) {
    const int64_t m = size / radix;
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t j = 1; j < radix; ++j) {
        Root w = unityRoot(p * j % size, size);
        twiddleRe_.push_back(static_cast<T>(w.re));
        twiddleIm_.push_back(static_cast<T>(w.im));
      }
    }
    for (int64_t j = 0; j < radix; ++j) {
      Root w = unityRoot(j, radix);
      rootRe_.push_back(static_cast<T>(w.re));
      rootIm_.push_back(static_cast<T>(w.im));
    }
    size = m;
  }
}

template <typename T>
void FftPlan<T>::planConvolution() {
  convolution_ = std::make_unique<FftPlan>(smoothLength(2 * n_ - 1));
  const int64_t m = convolution_->length();
  chirpRe_.resize(n_), chirpIm_.resize(n_);
  std::vector<T> re(m), im(m), spareRe(m), spareIm(m);
  for (int64_t k = 0; k < n_; ++k) {
    // k * k modulo 2 n, without overflow for any length that fits in memory.
    const auto square = static_cast<int64_t>(static_cast<unsigned __int128>(k) * k % (2 * n_));
    Root w = unityRoot(square, 2 * n_);
    chirpRe_[k] = static_cast<T>(w.re);
    chirpIm_[k] = static_cast<T>(w.im);
    re[k] = chirpRe_[k], im[k] = -chirpIm_[k];
    if (k > 0) re[m - k] = chirpRe_[k], im[m - k] = -chirpIm_[k];
  }
  const bool inSpare =
      convolution_->transform(false, re.data(), im.data(), spareRe.data(), spareIm.data());
  filterRe_ = inSpare ? spareRe : re;
  filterIm_ = inSpare ? spareIm : im;
  for (int64_t k = 0; k < m; ++k) {
    filterRe_[k] /= static_cast<T>(m);
    filterIm_[k] /= static_cast<T>(m);
  }
}

template <typename T>
bool FftPlan<T>::transform(bool together, T* re, T* im, T* spareRe, T* spareIm) const {
  if (!convolution_) {
    FftStages<T> stages{n_,
                        static_cast<int>(radices_.size()),
                        radices_.data(),
                        twiddleRe_.data(),
                        twiddleIm_.data(),
                        rootRe_.data(),
                        rootIm_.data()};
    const FftKernels<T> chosen = kernels();
    return (together ? chosen.together : chosen.single)(stages, re, im, spareRe, spareIm);
  }
  const int64_t m = convolution_->length(), lanes = together ? kFftLanes<T> : 1;
  auto multiply = [lanes](T* xRe, T* xIm, const T* wRe, const T* wIm, int64_t count) {
    for (int64_t k = 0; k < count; ++k) {
      for (int64_t l = k * lanes; l < (k + 1) * lanes; ++l) {
        const T a = xRe[l], b = xIm[l];
        xRe[l] = a * wRe[k] - b * wIm[k];
        xIm[l] = a * wIm[k] + b * wRe[k];
      }
    }
  };
  multiply(re, im, chirpRe_.data(), chirpIm_.data(), n_);
  for (int64_t i = n_ * lanes; i < m * lanes; ++i) re[i] = im[i] = T(0);
  bool inSpare = convolution_->transform(together, re, im, spareRe, spareIm);
  T* xRe = inSpare ? spareRe : re;
  T* xIm = inSpare ? spareIm : im;
  multiply(xRe, xIm, filterRe_.data(), filterIm_.data(), m);
  // With real and imaginary parts exchanged, the forward transform is the inverse one.
  bool again = inSpare ? convolution_->transform(together, xIm, xRe, im, re)
                       : convolution_->transform(together, xIm, xRe, spareIm, spareRe);
  inSpare = inSpare != again;
  multiply(inSpare ? spareRe : re, inSpare ? spareIm : im, chirpRe_.data(), chirpIm_.data(), n_);
  return inSpare;
}

template <typename T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::get(int64_t n) {
  static std::mutex mutex;
  static std::map<int64_t, std::shared_ptr<const FftPlan>> plans;
  constexpr size_t kMaxPlans = 64;
  {
    std::lock_guard lock(mutex);
    if (auto found = plans.find(n); found != plans.end()) return found->second;
  }
  auto plan = std::make_shared<const FftPlan>(n);
  std::lock_guard lock(mutex);
  if (plans.size() >= kMaxPlans) plans.clear();
  plans.emplace(n, plan);
  return plan;
}

template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace isthmus::cpu
