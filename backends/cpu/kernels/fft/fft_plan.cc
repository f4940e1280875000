// Factors lengths and tabulates roots of unity.
#include "backends/cpu/kernels/fft/fft_plan.h"

#include <algorithm>

#include "backends/cpu/kernels/fft/fft_plan_cache.h"
#include "backends/cpu/kernels/fft/fft_roots.h"
#include "backends/cpu/kernels/isa.h"

namespace isthmus::cpu {
namespace {

// Eights first: they are the cheapest per point. Empty if a prime factor is too large.
std::vector<int> factor(int64_t n) {
  std::vector<int> radices;
  for (int radix : {8, 4, 2}) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
      if (radix == 2) std::swap(radices.front(), radices.back());
    }
  }
  for (int radix = 3; radix <= kMaxFftRadix && n > 1; radix += 2) {
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  }
  if (n > 1) radices.clear();
  return radices;
}

// Longer lines are grids. The bound is DUCC's.
constexpr int64_t kMaxStagedLength = 10000;

// Rows and columns of a grid: prime factors from the largest, each to the smaller side.
std::pair<int64_t, int64_t> gridOf(int64_t n) {
  std::vector<int64_t> primes;
  for (int64_t divisor = 2; divisor * divisor <= n; ++divisor) {
    for (; n % divisor == 0; n /= divisor) primes.push_back(divisor);
  }
  if (n > 1) primes.push_back(n);
  std::reverse(primes.begin(), primes.end());
  int64_t rows = 1, columns = 1;
  for (int64_t prime : primes) (rows > columns ? columns : rows) *= prime;
  return {rows, columns};
}

template <typename T>
T* alignedForLanes(T* p) {
  constexpr uintptr_t bytes = kFftLanes<T> * sizeof(T);
  return reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(p) + bytes - 1) / bytes * bytes);
}

}  // namespace

bool hasSmallFactors(int64_t n) { return n == 1 || !factor(n).empty(); }

int64_t smoothLength(int64_t n) {
  for (int64_t candidate = n;; ++candidate) {
    int64_t rest = candidate;
    for (int prime : {2, 3, 5, 7, 11}) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return candidate;
  }
}

template <typename T>
void FftStageTables<T>::appendTwiddle(const FftRoots& roots, int64_t k) {
  const FftRoot w = roots[k];
  twiddleRe_.push_back(static_cast<T>(w.re));
  twiddleIm_.push_back(static_cast<T>(-w.im));
}

template <typename T>
void FftStageTables<T>::appendRadixRoots(int64_t n, const FftRoots& roots, int radix) {
  for (int64_t j = 0; j < radix; ++j) {
    const FftRoot w = roots[n / radix * j];
    rootRe_.push_back(static_cast<T>(w.re));
    rootIm_.push_back(static_cast<T>(-w.im));
  }
}

template <typename T>
void FftStageTables<T>::fillComplex(int64_t n, const FftRoots& roots, int64_t total) {
  int64_t size = n;
  for (int radix : radices_) {
    const int64_t m = size / radix;
    for (int64_t p = 0; p < m; ++p) {
      for (int64_t j = 1; j < radix; ++j) appendTwiddle(roots, total / size * (p * j));
    }
    appendRadixRoots(total, roots, radix);
    size = m;
  }
}

template <typename T>
void FftStageTables<T>::fillReal(int64_t n, const FftRoots& roots, bool inverse) {
  const auto count = static_cast<int>(radices_.size());
  int64_t before = inverse ? 1 : n;
  for (int i = 0; i < count; ++i) {
    const int radix = radices_[inverse ? i : count - 1 - i];
    if (!inverse) before /= radix;
    for (int64_t p = 1; p <= (n / before / radix - 1) / 2; ++p) {
      for (int64_t j = 1; j < radix; ++j) appendTwiddle(roots, before * (p * j));
    }
    appendRadixRoots(n, roots, radix);
    if (inverse) before *= radix;
  }
}

template <typename T>
FftStages<T> FftStageTables<T>::view(int64_t n) const {
  return {n,
          static_cast<int>(radices_.size()),
          radices_.data(),
          twiddleRe_.data(),
          twiddleIm_.data(),
          rootRe_.data(),
          rootIm_.data()};
}

template <typename T>
FftKernels<T> FftPlan<T>::kernels() {
  if constexpr (sizeof(T) == 4) {
    return forHost(v2::fftKernelsF32, v3::fftKernelsF32, v4::fftKernelsF32)();
  } else {
    return forHost(v2::fftKernelsF64, v3::fftKernelsF64, v4::fftKernelsF64)();
  }
}

template <typename T>
FftPlan<T>::FftPlan(int64_t n, FftOrder order) : n_(n), scratchLength_(n) {
  // (DUCC splits longer lines in four, too, before it sees a grid.)
  const bool inFour =
      order == FftOrder::kAlone && n > 300 && n <= 4 * kMaxStagedLength && n % 4 == 0;
  plan(FftRoots(n), n, inFour);
}

template <typename T>
FftPlan<T>::FftPlan(int64_t n, const FftRoots& roots, int64_t total) : n_(n), scratchLength_(n) {
  plan(roots, total, false);
}

template <typename T>
void FftPlan<T>::plan(const FftRoots& roots, int64_t total, bool inFour) {
  if (n_ > kMaxStagedLength && !inFour && gridOf(n_).second > 1) return planGrid(roots, total);
  const std::vector<int> radices = factor(inFour ? n_ / 4 : n_);
  if (radices.empty() && n_ > 1) return planConvolution(roots, total);
  if (inFour) stages_.append(4);
  for (int radix : radices) stages_.append(radix);
  stages_.fillComplex(n_, roots, total);
}

template <typename T>
void FftPlan<T>::planGrid(const FftRoots& roots, int64_t total) {
  const auto [height, width] = gridOf(n_);
  columns_.reset(new FftPlan(height, roots, total));
  rows_.reset(new FftPlan(width, roots, total));
  gridRe_.reserve(n_), gridIm_.reserve(n_);
  for (int64_t m = 0; m < height; ++m) {
    for (int64_t i = 0; i < width; ++i) {
      const FftRoot w = roots[total / n_ * (m * i)];
      gridRe_.push_back(static_cast<T>(w.re));
      gridIm_.push_back(static_cast<T>(-w.im));
    }
  }
  // A group of columns or rows with its spare arrays lies behind the line.
  scratchLength_ +=
      kFftLanes<T> + 2 * kFftLanes<T> * std::max(columns_->scratchLength(), rows_->scratchLength());
}

template <typename T>
bool FftPlan<T>::transformGrid(bool together, bool inverse, T* re, T* im, T* spareRe,
                               T* spareIm) const {
  if (inverse) std::swap(re, im), std::swap(spareRe, spareIm);
  const FftKernels<T> chosen = kernels();
  // Neighbouring columns and rows are transformed together; where lines are together already, the
  // values of one column or row.
  constexpr int64_t lanes = kFftLanes<T>;
  const int64_t lines = together ? lanes : 1, group = together ? 1 : lanes;
  const int64_t height = columns_->length(), width = rows_->length();
  T *groupRe = alignedForLanes(re + n_ * lines), *groupIm = alignedForLanes(im + n_ * lines);
  auto transformGroup = [&](const FftPlan& plan, T** resultRe, T** resultIm) {
    const int64_t size = plan.scratchLength() * lanes;
    const bool moved =
        plan.transform(true, false, groupRe, groupIm, groupRe + size, groupIm + size);
    *resultRe = groupRe + (moved ? size : 0);
    *resultIm = groupIm + (moved ? size : 0);
  };
  T *resultRe, *resultIm;
  for (int64_t i = 0; i < width; i += group) {
    const int64_t used = together ? lanes : std::min(group, width - i);
    T *columnRe = re + i * lines, *columnIm = im + i * lines;
    chosen.loadColumns(columnRe, width * lines, used, height, groupRe);
    chosen.loadColumns(columnIm, width * lines, used, height, groupIm);
    transformGroup(*columns_, &resultRe, &resultIm);
    if (!together) {
      chosen.storeColumns(resultRe, resultIm, gridRe_.data() + i, gridIm_.data() + i, width, used,
                          height, columnRe, columnIm);
      continue;
    }
    for (int64_t m = 0; m < height; ++m) {
      chosen.multiplyTogether(1, &gridRe_[m * width + i], &gridIm_[m * width + i],
                              resultRe + m * lanes, resultIm + m * lanes);
    }
    chosen.storeColumns(resultRe, resultIm, nullptr, nullptr, width * lanes, lanes, height,
                        columnRe, columnIm);
  }
  for (int64_t m = 0; m < height; m += group) {
    const int64_t used = together ? lanes : std::min(group, height - m);
    T *rowRe = re + m * width * lines, *rowIm = im + m * width * lines;
    if (together) {
      std::copy_n(rowRe, width * lanes, groupRe);
      std::copy_n(rowIm, width * lanes, groupIm);
    } else if (used == lanes) {
      chosen.loadReal(rowRe, width, width, groupRe);
      chosen.loadReal(rowIm, width, width, groupIm);
    } else {
      for (int64_t k = 0; k < width * lanes; ++k) {
        const int64_t l = k % lanes, at = l * width + k / lanes;
        groupRe[k] = l < used ? rowRe[at] : T(0);
        groupIm[k] = l < used ? rowIm[at] : T(0);
      }
    }
    transformGroup(*rows_, &resultRe, &resultIm);
    chosen.storeColumns(resultRe, resultIm, nullptr, nullptr, height * lines, used, width,
                        spareRe + m * lines, spareIm + m * lines);
  }
  return true;
}

template <typename T>
void FftPlan<T>::planConvolution(const FftRoots& roots, int64_t total) {
  convolution_ = std::make_unique<FftPlan>(smoothLength(2 * n_ - 1), FftOrder::kGrouped);
  scratchLength_ = convolution_->scratchLength();
  const int64_t m = convolution_->length();
  const T scale = T(1) / static_cast<T>(m);
  chirpRe_.resize(n_), chirpIm_.resize(n_);
  std::vector<T> re(scratchLength_), im(scratchLength_), spareRe(scratchLength_),
      spareIm(scratchLength_);
  const bool contained = total % (2 * n_) == 0;
  const FftRoots own(contained ? 1 : 2 * n_);
  for (int64_t k = 0; k < n_; ++k) {
    const int64_t index = chirpIndex(k, n_);
    const FftRoot w = contained ? roots[total / (2 * n_) * index] : own[index];
    chirpRe_[k] = static_cast<T>(w.re);
    chirpIm_[k] = static_cast<T>(-w.im);
    re[k] = chirpRe_[k] * scale, im[k] = -chirpIm_[k] * scale;
    if (k > 0) re[m - k] = re[k], im[m - k] = im[k];
  }
  const bool inSpare =
      convolution_->transform(false, false, re.data(), im.data(), spareRe.data(), spareIm.data());
  filterRe_ = inSpare ? spareRe : re;
  filterIm_ = inSpare ? spareIm : im;
  // The filter is symmetric, but for roundings.
  for (int64_t k = 1; 2 * k < m; ++k) {
    filterRe_[m - k] = filterRe_[k];
    filterIm_[m - k] = filterIm_[k];
  }
}

template <typename T>
bool FftPlan<T>::transformByConvolution(bool together, bool inverse, T* re, T* im, T* spareRe,
                                        T* spareIm) const {
  const FftKernels<T> chosen = kernels();
  const auto multiply = together ? chosen.multiplyTogether : chosen.multiplySingle;
  const int64_t m = convolution_->length(), lanes = together ? kFftLanes<T> : 1;
  // The chirp's conjugate, if inverse: again by exchanged parts.
  if (inverse) std::swap(re, im), std::swap(spareRe, spareIm);
  multiply(n_, chirpRe_.data(), chirpIm_.data(), re, im);
  std::fill(re + n_ * lanes, re + m * lanes, T(0));
  std::fill(im + n_ * lanes, im + m * lanes, T(0));
  const bool inSpare = convolution_->transform(together, inverse, re, im, spareRe, spareIm);
  T *xRe = re, *xIm = im, *yRe = spareRe, *yIm = spareIm;
  if (inSpare) std::swap(xRe, yRe), std::swap(xIm, yIm);
  multiply(m, filterRe_.data(), filterIm_.data(), xRe, xIm);
  const bool again = convolution_->transform(together, !inverse, xRe, xIm, yRe, yIm);
  if (again) std::swap(xRe, yRe), std::swap(xIm, yIm);
  multiply(n_, chirpRe_.data(), chirpIm_.data(), xRe, xIm);
  return inSpare != again;
}

template <typename T>
bool FftPlan<T>::transform(bool together, bool inverse, T* re, T* im, T* spareRe,
                           T* spareIm) const {
  if (convolution_) return transformByConvolution(together, inverse, re, im, spareRe, spareIm);
  if (columns_) return transformGrid(together, inverse, re, im, spareRe, spareIm);
  const auto run = together ? kernels().together : kernels().single;
  const FftStages<T> stages = stages_.view(n_);
  // With real and imaginary parts exchanged, the forward transform is the inverse one.
  return inverse ? run(stages, im, re, spareIm, spareRe) : run(stages, re, im, spareRe, spareIm);
}

template <typename T>
std::shared_ptr<const FftPlan<T>> FftPlan<T>::get(int64_t n, FftOrder order) {
  static FftPlanCache<std::pair<int64_t, FftOrder>, FftPlan, 64> plans;
  return plans.get({n, order}, [&] { return std::make_shared<const FftPlan>(n, order); });
}

template class FftStageTables<float>;
template class FftStageTables<double>;
template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace isthmus::cpu
