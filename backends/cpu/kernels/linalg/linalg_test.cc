// isthmus_rt_cholesky and isthmus_rt_triangular_solve: the products of what they return must give
// back what they were given.
#include "backends/cpu/kernels/linalg/linalg.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using E = ElementType;
using testing::TestRun;
using Wide = std::complex<long double>;

bool isComplex(E type) { return elementClass(type) == ElementClass::kComplex; }
double epsilon(E type) { return type == E::kF32 || type == E::kC64 ? 1e-6 : 1e-14; }

Wide load(const std::vector<char>& data, E type, int64_t index) {
  auto value = loadElement<Complex128>(data.data(), type, index);
  return {value.re, value.im};
}
void store(std::vector<char>& data, E type, int64_t index, Wide value) {
  storeElement<Complex128>(data.data(), type, index, {double(value.real()), double(value.imag())});
}
Wide randomValue(E type, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  double re = uniform(rng);
  return {re, isComplex(type) ? uniform(rng) : 0.0};
}

void checkCholesky(E type, int64_t batch, int64_t n, bool lower, std::mt19937& rng, int threads) {
  std::vector<char> a(batch * n * n * storageBytes(type)), result(a.size());
  std::vector<Wide> full(batch * n * n);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<Wide> g(n * n);
    for (auto& x : g) x = randomValue(type, rng);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Wide sum = i == j ? Wide(n) : Wide(0);
        for (int64_t k = 0; k < n; ++k) sum += g[i * n + k] * std::conj(g[j * n + k]);
        int64_t at = (b * n + i) * n + j;
        full[at] = sum;
        // The triangle that must not be read holds garbage.
        store(a, type, at, (lower ? j <= i : j >= i) ? sum : Wide(1e30));
      }
    }
  }
  CholeskyDescriptor d{type, lower, batch, n};
  TestRun run(threads);
  void* buffers[] = {a.data(), result.data()};
  ASSERT_EQ(isthmus_rt_cholesky(&run.run, &d, buffers), 0);
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  for (int64_t b = 0; b < batch; ++b) {
    auto at = [&](int64_t i, int64_t j) { return load(result, type, (b * n + i) * n + j); };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        if (lower ? j > i : j < i) {
          ASSERT_EQ(at(i, j), Wide(0));
        }
        Wide sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          sum += lower ? at(i, k) * std::conj(at(j, k)) : std::conj(at(k, i)) * at(k, j);
        }
        ASSERT_LE(std::abs(sum - full[(b * n + i) * n + j]), epsilon(type) * 4 * n)
            << "type " << int(type) << " n " << n << " at " << i << "," << j;
      }
    }
  }
}

TEST(CholeskyTest, FactorGivesBackTheMatrix) {
  std::mt19937 rng(1);
  for (E type : {E::kF32, E::kF64, E::kC64, E::kC128}) {
    for (bool lower : {true, false}) {
      for (int64_t n : {1, 2, 5, 17}) checkCholesky(type, 3, n, lower, rng, 2);
      checkCholesky(type, 1, 100, lower, rng, 2);
    }
  }
}

TEST(CholeskyTest, NotPositiveDefiniteGivesNan) {
  std::vector<double> a{1, 2, 2, 1, 4, 0, 0, 9}, result(8);
  CholeskyDescriptor d{E::kF64, 1, 2, 2};
  TestRun run(1);
  void* buffers[] = {a.data(), result.data()};
  ASSERT_EQ(isthmus_rt_cholesky(&run.run, &d, buffers), 0);
  EXPECT_TRUE(std::isnan(result[0]) && std::isnan(result[2]) && std::isnan(result[3]));
  EXPECT_EQ(result[1], 0);
  EXPECT_EQ(result[4], 2);
  EXPECT_EQ(result[7], 3);
}

void checkSolve(TriangularSolveDescriptor d, std::mt19937& rng, bool inPlace) {
  E type = d.type;
  int64_t k = d.leftSide ? d.rows : d.cols;
  std::vector<char> a(d.batch * k * k * storageBytes(type));
  std::vector<char> b(d.batch * d.rows * d.cols * storageBytes(type)), result(b.size());
  for (int64_t i = 0; i < d.batch * d.rows * d.cols; ++i) store(b, type, i, randomValue(type, rng));
  // op(a) as a dense matrix.
  std::vector<Wide> op(d.batch * k * k);
  for (int64_t n = 0; n < d.batch; ++n) {
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        bool inside = d.lower ? j <= i : j >= i;
        // Small off the diagonal, so that solutions stay of the order of one.
        Wide value =
            i == j ? Wide(2) + randomValue(type, rng) : randomValue(type, rng) / Wide(double(k));
        if (!inside || (i == j && d.unitDiagonal)) value = 1e30;
        int64_t at = (n * k + i) * k + j;
        store(a, type, at, value);
        Wide seen = i == j && d.unitDiagonal ? Wide(1) : inside ? load(a, type, at) : Wide(0);
        if (d.transpose == TriangularTranspose::kNone) op[at] = seen;
        int64_t turned = (n * k + j) * k + i;
        if (d.transpose == TriangularTranspose::kTranspose) op[turned] = seen;
        if (d.transpose == TriangularTranspose::kAdjoint) op[turned] = std::conj(seen);
      }
    }
  }
  if (inPlace) result = b;
  TestRun run(2);
  void* buffers[] = {a.data(), inPlace ? result.data() : b.data(), result.data()};
  ASSERT_EQ(isthmus_rt_triangular_solve(&run.run, &d, buffers), 0);
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  for (int64_t n = 0; n < d.batch; ++n) {
    for (int64_t i = 0; i < d.rows; ++i) {
      for (int64_t j = 0; j < d.cols; ++j) {
        auto x = [&](int64_t r, int64_t c) {
          return load(result, type, (n * d.rows + r) * d.cols + c);
        };
        Wide sum = 0;
        for (int64_t p = 0; p < k; ++p) {
          sum += d.leftSide ? op[(n * k + i) * k + p] * x(p, j) : x(i, p) * op[(n * k + p) * k + j];
        }
        ASSERT_LE(std::abs(sum - load(b, type, (n * d.rows + i) * d.cols + j)),
                  epsilon(type) * (10 + double(k)))
            << "type " << int(type) << " left " << d.leftSide << " lower " << d.lower
            << " transpose " << int(d.transpose) << " k " << k;
      }
    }
  }
}

TEST(TriangularSolveTest, SolutionSolves) {
  std::mt19937 rng(2);
  for (E type : {E::kF32, E::kF64, E::kC64, E::kC128}) {
    for (int flags = 0; flags < 24; ++flags) {
      auto transpose = static_cast<TriangularTranspose>(flags / 8);
      for (auto [batch, rows, cols] : std::vector<std::array<int64_t, 3>>{
               {3, 4, 7}, {1, 1, 1}, {1, 70, 5}, {2, 6, 81}, {2, 37, 1}, {1, 1, 37}, {2, 33, 34}}) {
        checkSolve(
            {type, flags & 1, (flags >> 1) & 1, (flags >> 2) & 1, transpose, 0, batch, rows, cols},
            rng, flags % 3 == 0);
      }
    }
  }
  checkSolve({E::kF64, 1, 1, 0, TriangularTranspose::kNone, 0, 1, 200, 60}, rng, false);
  checkSolve({E::kF64, 0, 0, 0, TriangularTranspose::kAdjoint, 0, 1, 60, 200}, rng, true);
}

TEST(LinalgTest, RefuseOtherTypes) {
  TestRun run(1);
  CholeskyDescriptor d{E::kS32, 1, 1, 1};
  int32_t data = 1;
  void* buffers[] = {&data, &data, &data};
  EXPECT_EQ(isthmus_rt_cholesky(&run.run, &d, buffers), 1);
  EXPECT_EQ(run.status.code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace isthmus::cpu
