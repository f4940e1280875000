// Bailey's four steps, and what leads to them: Bluestein's convolution, real lines.
#include "backends/cpu/kernels/fft/fft_long.h"

#include <algorithm>
#include <utility>

#include "backends/cpu/kernels/fft/fft_pass.h"
#include "backends/cpu/kernels/fft/fft_plan_cache.h"
#include "backends/cpu/kernels/fft/fft_roots.h"
#include "backends/cpu/kernels/parallel_for.h"
#include "runtime/scratch.h"

namespace isthmus::cpu {
namespace {

// From here on, four steps on one line are faster than one pass over it.
constexpr int64_t kMinSingle = 2048;
// From here on, lines that are transformed together leave the core's cache.
constexpr int64_t kMinTogether = 8192;
constexpr int64_t kMinRows = 8;

// The rows of a matrix of n values: near the square root, with whole groups of lanes both ways if
// that makes it no more than 64 times as long as wide; 0 if there are none.
int64_t chooseRows(int64_t n, int64_t lanes) {
  if (!hasSmallFactors(n)) return 0;
  int64_t largest = 1;
  while ((largest + 1) * (largest + 1) <= n) ++largest;
  int64_t best = 0;
  int bestScore = -1;
  for (int64_t rows = largest; rows >= kMinRows; --rows) {
    if (n % rows != 0 || (best != 0 && 64 * rows * rows < n)) continue;
    const int score = (rows % lanes == 0) + (n / rows % lanes == 0);
    if (score > bestScore) {
      best = rows;
      bestScore = score;
    }
  }
  return best;
}

template <typename F>
void forAll(RunServices& services, int64_t count, const F& body) {
  constexpr int64_t kGrain = 8192;
  if (count < 2 * kGrain) return body(0, count);
  parallelFor(services, count, kGrain, body);
}

}  // namespace

template <typename T>
LongFft<T>::LongFft(int64_t n) : n_(n) {
  if (n < kMinSingle / 2) return;
  if (const int64_t rows = chooseRows(n, kFftLanes<T>)) {
    planFourSteps(rows);
  } else if (!hasSmallFactors(n)) {
    planConvolution();
  }
}

template <typename T>
void LongFft<T>::planFourSteps(int64_t rows) {
  rows_ = rows, columns_ = n_ / rows;
  constexpr int64_t lanes = kFftLanes<T>;
  const int64_t groups = (columns_ + lanes - 1) / lanes;
  twiddleRe_.resize(groups * rows_ * lanes), twiddleIm_.resize(groups * rows_ * lanes);
  const FftRoots roots(n_);
  for (int64_t column = 0; column < columns_; ++column) {
    for (int64_t k = 0; k < rows_; ++k) {
      const FftRoot w = roots[column * k];
      const int64_t at = (column / lanes * rows_ + k) * lanes + column % lanes;
      twiddleRe_[at] = static_cast<T>(w.re);
      twiddleIm_[at] = static_cast<T>(-w.im);
    }
  }
}

template <typename T>
void LongFft<T>::planConvolution() {
  // A multiple of the square of the lanes, so that both steps have whole groups.
  constexpr int64_t kUnit = 64;
  const int64_t m = kUnit * smoothLength((2 * n_ - 1 + kUnit - 1) / kUnit);
  auto convolution = std::make_shared<const LongFft>(m);
  if (!convolution->isUsable()) return;
  chirp_.resize(2 * n_);
  const FftRoots roots(2 * n_);
  const FftPlan<T> plan(m, FftOrder::kGrouped);
  const int64_t size = plan.scratchLength();
  std::vector<T> re(size), im(size), spareRe(size), spareIm(size);
  for (int64_t k = 0; k < n_; ++k) {
    const FftRoot w = roots[chirpIndex(k, n_)];
    chirp_[2 * k] = static_cast<T>(w.re), chirp_[2 * k + 1] = static_cast<T>(-w.im);
    re[k] = chirp_[2 * k], im[k] = -chirp_[2 * k + 1];
    if (k > 0) re[m - k] = re[k], im[m - k] = im[k];
  }
  const bool inSpare =
      plan.transform(false, false, re.data(), im.data(), spareRe.data(), spareIm.data());
  filter_.resize(2 * m);
  for (int64_t k = 0; k < m; ++k) {
    filter_[2 * k] = (inSpare ? spareRe : re)[k] / static_cast<T>(m);
    filter_[2 * k + 1] = (inSpare ? spareIm : im)[k] / static_cast<T>(m);
  }
  convolution_ = std::move(convolution);
}

template <typename T>
void LongFft<T>::planHalf() {
  isHalf_ = true;
  const FftRoots roots(2 * n_);
  for (int64_t k = 0; k <= n_ / 2; ++k) {
    const FftRoot w = roots[k];
    realTwiddles_.push_back(static_cast<T>(w.re));
    realTwiddles_.push_back(static_cast<T>(-w.im));
  }
}

template <typename T>
bool LongFft<T>::complexLine(RunServices& services, bool inverse, const T* source, T* target,
                             T scale) const {
  if (convolution_) return convolve(services, inverse, source, target, scale);
  Scratch<T> turned(services, 2 * n_);
  if (!turned) return false;
  ComplexPass<T> pass{{services, source, turned.data(), columns_, rows_, columns_, T(1)},
                      inverse,
                      FftPlan<T>::get(rows_, FftOrder::kGrouped),
                      FftPlan<T>::get(rows_, FftOrder::kGrouped),
                      twiddleRe_.data(),
                      twiddleIm_.data()};
  return runPass<T>(services, pass) &&
         runComplex<T>(services, inverse, columns_, turned.data(), target, rows_, rows_, scale);
}

template <typename T>
bool LongFft<T>::convolve(RunServices& services, bool inverse, const T* source, T* target,
                          T scale) const {
  const int64_t m = convolution_->n_;
  Scratch<T> line(services, 2 * m);
  if (!line) return false;
  T* x = line.data();
  // With real and imaginary parts exchanged, the forward transform is the inverse one.
  const int re = inverse ? 1 : 0, im = 1 - re;
  forAll(services, m, [&](int64_t begin, int64_t end) {
    const int64_t middle = std::clamp(n_, begin, end);
    for (int64_t k = begin; k < middle; ++k) {
      const T a = source[2 * k + re], b = source[2 * k + im], c = chirp_[2 * k],
              d = chirp_[2 * k + 1];
      x[2 * k] = a * c - b * d;
      x[2 * k + 1] = a * d + b * c;
    }
    std::fill(x + 2 * middle, x + 2 * end, T(0));
  });
  if (!convolution_->complexLine(services, false, x, x, T(1))) return false;
  forAll(services, m, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T a = x[2 * k], b = x[2 * k + 1], c = filter_[2 * k], d = filter_[2 * k + 1];
      x[2 * k] = a * c - b * d;
      x[2 * k + 1] = a * d + b * c;
    }
  });
  if (!convolution_->complexLine(services, true, x, x, T(1))) return false;
  forAll(services, n_, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T a = x[2 * k], b = x[2 * k + 1], c = chirp_[2 * k], d = chirp_[2 * k + 1];
      target[2 * k + re] = (a * c - b * d) * scale;
      target[2 * k + im] = (a * d + b * c) * scale;
    }
  });
  return true;
}

// With h values z[j] = x[2 j] + i x[2 j + 1], whose transform Z is E + i O, that of x at k and at
// h - k, conjugated, is E + w O and E - w O for w = exp(-2 pi i k / (2 h)).
template <typename T>
bool LongFft<T>::halfOfReal(RunServices& services, FftType type, const T* source, T* target,
                            T scale) const {
  const int64_t h = n_, pairs = h / 2 + 1;
  if (type == FftType::kRfft) {
    if (!complexLine(services, false, source, target, scale)) return false;
    forAll(services, pairs, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        T *at = target + 2 * k, *mirrored = target + 2 * (h - k);
        // Z is periodic: its value at h is that at 0.
        const T aRe = at[0], aIm = at[1], bRe = k ? mirrored[0] : aRe, bIm = k ? mirrored[1] : aIm;
        const T evenRe = (aRe + bRe) * T(0.5), evenIm = (aIm - bIm) * T(0.5);
        const T oddRe = (aIm + bIm) * T(0.5), oddIm = (bRe - aRe) * T(0.5);
        const T wRe = realTwiddles_[2 * k], wIm = realTwiddles_[2 * k + 1];
        const T re = oddRe * wRe - oddIm * wIm, im = oddRe * wIm + oddIm * wRe;
        at[0] = evenRe + re, at[1] = evenIm + im;
        if (2 * k != h) mirrored[0] = evenRe - re, mirrored[1] = im - evenIm;
      }
    });
    return true;
  }
  Scratch<T> scratch(services, 2 * h);
  if (!scratch) return false;
  T* z = scratch.data();
  forAll(services, pairs, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      const T *at = source + 2 * k, *mirrored = source + 2 * (h - k);
      // The imaginary parts of the first and the last value are ignored.
      const T aRe = at[0], aIm = k ? at[1] : T(0), bRe = mirrored[0], bIm = k ? mirrored[1] : T(0);
      const T evenRe = aRe + bRe, evenIm = aIm - bIm, re = aRe - bRe, im = aIm + bIm;
      const T wRe = realTwiddles_[2 * k], wIm = -realTwiddles_[2 * k + 1];
      const T oddRe = re * wRe - im * wIm, oddIm = re * wIm + im * wRe;
      z[2 * k] = evenRe - oddIm, z[2 * k + 1] = evenIm + oddRe;
      if (k > 0 && 2 * k != h) {
        z[2 * (h - k)] = evenRe + oddIm, z[2 * (h - k) + 1] = oddRe - evenIm;
      }
    }
  });
  return complexLine(services, true, z, target, scale);
}

template <typename T>
bool LongFft<T>::oddReal(RunServices& services, FftType type, const T* source, T* target,
                         T scale) const {
  Scratch<T> scratch(services, 2 * n_);
  if (!scratch) return false;
  T* z = scratch.data();
  if (type == FftType::kRfft) {
    forAll(services, n_, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) z[2 * k] = source[k], z[2 * k + 1] = T(0);
    });
    if (!complexLine(services, false, z, z, scale)) return false;
    std::copy(z, z + 2 * (n_ / 2 + 1), target);
    return true;
  }
  z[0] = source[0], z[1] = T(0);
  for (int64_t k = 1; k <= n_ / 2; ++k) {
    z[2 * k] = z[2 * (n_ - k)] = source[2 * k];
    z[2 * k + 1] = source[2 * k + 1];
    z[2 * (n_ - k) + 1] = -source[2 * k + 1];
  }
  if (!complexLine(services, true, z, z, scale)) return false;
  forAll(services, n_, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) target[k] = z[2 * k];
  });
  return true;
}

template <typename T>
bool LongFft<T>::run(RunServices& services, FftType type, const T* source, T* target,
                     T scale) const {
  if (type == FftType::kFft || type == FftType::kIfft) {
    return complexLine(services, type == FftType::kIfft, source, target, scale);
  }
  return isHalf_ ? halfOfReal(services, type, source, target, scale)
                 : oddReal(services, type, source, target, scale);
}

template <typename T>
std::shared_ptr<const LongFft<T>> LongFft<T>::get(FftType type, int64_t n, int64_t lines) {
  static FftPlanCache<std::pair<int64_t, bool>, LongFft, 32> plans;
  const bool isHalf = (type == FftType::kRfft || type == FftType::kIrfft) && n % 2 == 0;
  const std::pair<int64_t, bool> key{isHalf ? n / 2 : n, isHalf};
  if (key.first < (lines == 1 ? kMinSingle : kMinTogether)) return nullptr;
  std::shared_ptr<const LongFft> plan = plans.get(key, [&] {
    auto fresh = std::make_shared<LongFft>(key.first);
    if (isHalf) fresh->planHalf();
    return fresh;
  });
  return plan->isUsable() ? plan : nullptr;
}

template class LongFft<float>;
template class LongFft<double>;

}  // namespace isthmus::cpu
