// Scalars of double precision and the reflections that decompositions are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace isthmus::cpu::householder {

using Complex = std::complex<double>;

inline double conjugate(double x) { return x; }
inline Complex conjugate(Complex x) { return std::conj(x); }
inline double realPart(double x) { return x; }
inline double realPart(Complex x) { return x.real(); }
inline double imaginaryPart(double) { return 0; }
inline double imaginaryPart(Complex x) { return x.imag(); }
// Without the library's care for infinities, which costs most of the time.
inline double product(double a, double b) { return a * b; }
inline Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// x^H y.
template <typename T>
T dot(const T* x, const T* y, int64_t n) {
  T sum{};
  for (int64_t i = 0; i < n; ++i) sum += product(conjugate(x[i]), y[i]);
  return sum;
}

// x += factor * y.
template <typename T>
void addScaled(T* x, T factor, const T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] += product(factor, y[i]);
}

// Makes of x [n] the vector v of H = I - tau v v^H, with H^H x = (beta, 0, …) and beta real. Its
// first element, 1, is left out: x[0] becomes beta.
template <typename T>
T makeReflector(T* x, int64_t n) {
  double scale = 0;
  for (int64_t i = 0; i < n; ++i) scale = std::max(scale, std::abs(x[i]));
  double rest = 0;
  for (int64_t i = 1; i < n && scale > 0; ++i) rest += std::norm(x[i] / scale);
  if (rest == 0 && imaginaryPart(x[0]) == 0) return T{};
  const double norm = scale * std::sqrt(std::norm(x[0] / scale) + rest);
  const double beta = std::signbit(realPart(x[0])) ? norm : -norm;
  const T tau = (T(beta) - x[0]) / beta;
  const T pivot = x[0] - T(beta);
  for (int64_t i = 1; i < n; ++i) x[i] /= pivot;
  x[0] = T(beta);
  return tau;
}

// column -= factor * v (v^H column), for a v whose first element is 1 whatever is there.
template <typename T>
void reflect(T* column, const T* v, T factor, int64_t n) {
  const T sum = column[0] + dot(v + 1, column + 1, n - 1);
  const T step = -product(factor, sum);
  column[0] += step;
  addScaled(column + 1, step, v + 1, n - 1);
}

}  // namespace isthmus::cpu::householder
