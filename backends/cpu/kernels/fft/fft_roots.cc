#include "backends/cpu/kernels/fft/fft_roots.h"

#include <cmath>
#include <numbers>

namespace isthmus::cpu {
namespace {

// The angle is reduced to an eighth of the circle, where sine and cosine are accurate.
FftRoot rootAt(int64_t k, int64_t n) {
  const auto unit = static_cast<double>(0.25L * std::numbers::pi_v<long double> / n);
  const int64_t at = 8 * k;  // in units of 1 / (8 n) of the circle
  const int64_t octant = at / n;
  // Odd octants are measured from their end.
  const int64_t rest = octant % 2 ? (octant + 1) * n - at : at - octant * n;
  const double cosine = std::cos(static_cast<double>(rest) * unit);
  const double sine = std::sin(static_cast<double>(rest) * unit);
  switch (octant) {
    case 0:
      return {cosine, sine};
    case 1:
      return {sine, cosine};
    case 2:
      return {-sine, cosine};
    case 3:
      return {-cosine, sine};
    case 4:
      return {-cosine, -sine};
    case 5:
      return {-sine, -cosine};
    case 6:
      return {sine, -cosine};
    default:
      return {cosine, -sine};
  }
}

}  // namespace

FftRoots::FftRoots(int64_t n) : n_(n), shift_(1) {
  // Half of the circle: the other half is its mirror image.
  const int64_t values = (n + 2) / 2;
  while ((int64_t{1} << (2 * shift_)) < values) ++shift_;
  const int64_t step = int64_t{1} << shift_;
  fine_.push_back({1, 0});
  for (int64_t k = 1; k < step; ++k) fine_.push_back(rootAt(k, n));
  coarse_.push_back({1, 0});
  for (int64_t k = step; k < values; k += step) coarse_.push_back(rootAt(k, n));
}

FftRoot FftRoots::operator[](int64_t k) const {
  const bool mirrored = 2 * k > n_;
  if (mirrored) k = n_ - k;
  const FftRoot a = fine_[k & ((int64_t{1} << shift_) - 1)], b = coarse_[k >> shift_];
  const FftRoot root{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  return mirrored ? FftRoot{root.re, -root.im} : root;
}

}  // namespace isthmus::cpu
