// Roots of unity for Fourier transforms.
#pragma once

#include <cstdint>
#include <vector>

namespace isthmus::cpu {

struct FftRoot {
  double re, im;
};

// exp(2 pi i k / n) for 0 <= k < n. The larger tables are products of two small ones, in double
// precision: about sqrt(n) sines and cosines, and errors below two units in the last place of a
// double. The products are DUCC's, whose transforms XLA's CPU client runs, so that ours have the
// same roundings.
class FftRoots {
 public:
  explicit FftRoots(int64_t n);

  FftRoot operator[](int64_t k) const;

 private:
  int64_t n_;
  int shift_;
  std::vector<FftRoot> fine_, coarse_;
};

}  // namespace isthmus::cpu
