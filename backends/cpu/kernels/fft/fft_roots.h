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

// The exponents of Bluestein's chirp, whose value k is exp(-2 pi i chirpIndex(k, n) / (2 n)):
// k * k modulo 2 n, without overflow for any length that fits in memory.
inline int64_t chirpIndex(int64_t k, int64_t n) {
  return static_cast<int64_t>(static_cast<unsigned __int128>(k) * k % (2 * n));
}

}  // namespace isthmus::cpu
