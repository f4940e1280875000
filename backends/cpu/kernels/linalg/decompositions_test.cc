// isthmus_rt_decompose: the products of what it returns must give back what it was given.
#include "backends/cpu/kernels/linalg/decompositions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using testing::TestRun;
using Wide = std::complex<double>;

template <typename T>
constexpr bool kIsComplex = !std::is_floating_point_v<T>;
template <typename T>
constexpr ElementType kType = std::is_same_v<T, float>                 ? ElementType::kF32
                              : std::is_same_v<T, double>              ? ElementType::kF64
                              : std::is_same_v<T, std::complex<float>> ? ElementType::kC64
                                                                       : ElementType::kC128;
template <typename T>
constexpr double kTolerance = sizeof(T) / (kIsComplex<T> ? 2 : 1) == 4 ? 2e-5 : 1e-12;

template <typename T>
T randomValue(std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  if constexpr (kIsComplex<T>) {
    return T(uniform(rng), uniform(rng));
  } else {
    return T(uniform(rng));
  }
}

template <typename T>
std::vector<T> randomArray(int64_t count, std::mt19937& rng) {
  std::vector<T> values(count);
  for (T& value : values) value = randomValue<T>(rng);
  return values;
}

template <typename T>
class DecompositionsTest : public ::testing::Test {};
using Types = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DecompositionsTest, Types);

TYPED_TEST(DecompositionsTest, QrGivesItsMatrixBack) {
  using T = TypeParam;
  std::mt19937 rng(1);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {5, 5}, {7, 3}, {3, 7}, {40, 33}}) {
    const int64_t batch = 3, k = std::min(m, n);
    std::vector<T> a = randomArray<T>(batch * m * n, rng), r(a.size()), taus(batch * k);
    TestRun run(2);
    DecompositionDescriptor d{Decomposition::kQr, kType<T>, 0, 0, batch, m, n, k};
    void* buffers[] = {a.data(), r.data(), taus.data()};
    ASSERT_EQ(isthmus_rt_decompose(&run.run, &d, buffers), 0);
    // Q in full: of the vectors, padded or cut to a square.
    std::vector<T> vectors(batch * m * m), q(vectors.size());
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < k; ++j) vectors[(b * m + i) * m + j] = r[(b * m + i) * n + j];
      }
    }
    d = {Decomposition::kHouseholderProduct, kType<T>, 0, 0, batch, m, m, k};
    void* productBuffers[] = {vectors.data(), taus.data(), q.data()};
    ASSERT_EQ(isthmus_rt_decompose(&run.run, &d, productBuffers), 0);
    EXPECT_EQ(run.services.liveScratchBytes(), 0);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < m; ++j) {
          Wide sum = 0;
          for (int64_t p = 0; p < m; ++p) {
            sum += std::conj(Wide(q[(b * m + p) * m + i])) * Wide(q[(b * m + p) * m + j]);
          }
          EXPECT_LT(std::abs(sum - Wide(i == j)), kTolerance<T>) << m << "x" << n;
        }
        for (int64_t j = 0; j < n; ++j) {
          Wide sum = 0;
          for (int64_t p = 0; p <= std::min(j, m - 1); ++p) {
            sum += Wide(q[(b * m + i) * m + p]) * Wide(r[(b * m + p) * n + j]);
          }
          EXPECT_LT(std::abs(sum - Wide(a[(b * m + i) * n + j])), m * kTolerance<T>);
        }
      }
    }
  }
}

TYPED_TEST(DecompositionsTest, LuGivesItsRowsBack) {
  using T = TypeParam;
  std::mt19937 rng(2);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {6, 6}, {7, 3}, {3, 7}, {30, 30}}) {
    const int64_t k = std::min(m, n);
    std::vector<T> a = randomArray<T>(m * n, rng), lu(a.size());
    std::vector<int32_t> pivots(k), permutation(m);
    TestRun run(1);
    DecompositionDescriptor d{Decomposition::kLu, kType<T>, 0, 0, 1, m, n, k};
    void* buffers[] = {a.data(), lu.data(), pivots.data(), permutation.data()};
    ASSERT_EQ(isthmus_rt_decompose(&run.run, &d, buffers), 0);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        Wide sum = 0;
        for (int64_t p = 0; p <= std::min({i, j, k - 1}); ++p) {
          sum += (p == i ? Wide(1) : Wide(lu[i * n + p])) * Wide(lu[p * n + j]);
        }
        EXPECT_LT(std::abs(sum - Wide(a[permutation[i] * n + j])), m * kTolerance<T>);
        if (j < std::min(i, k)) EXPECT_LE(std::abs(lu[i * n + j]), 1.00001);
      }
    }
  }
}

TYPED_TEST(DecompositionsTest, EigenvectorsOfEitherTriangle) {
  using T = TypeParam;
  using Real = decltype(std::real(T{}));
  std::mt19937 rng(3);
  for (bool lower : {true, false}) {
    for (int64_t n : {1, 2, 3, 8, 41}) {
      const int64_t batch = 2;
      std::vector<T> full = randomArray<T>(batch * n * n, rng), a(full.size()), v(full.size());
      std::vector<Real> w(batch * n);
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j <= i; ++j) {
            T& x = full[(b * n + i) * n + j];
            if (i == j) x = T(std::real(x));
            if constexpr (kIsComplex<T>) {
              full[(b * n + j) * n + i] = std::conj(x);
            } else {
              full[(b * n + j) * n + i] = x;
            }
          }
        }
        for (int64_t i = 0; i < n; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            // The triangle that must not be read holds garbage.
            const bool isRead = lower ? j <= i : j >= i;
            a[(b * n + i) * n + j] = isRead ? full[(b * n + i) * n + j] : T(1e30);
          }
        }
      }
      TestRun run(2);
      DecompositionDescriptor d{Decomposition::kEigh, kType<T>, lower, 0, batch, n, n, 0};
      void* buffers[] = {a.data(), v.data(), w.data()};
      ASSERT_EQ(isthmus_rt_decompose(&run.run, &d, buffers), 0);
      EXPECT_EQ(run.services.liveScratchBytes(), 0);
      for (int64_t b = 0; b < batch; ++b) {
        for (int64_t j = 0; j < n; ++j) {
          if (j > 0) EXPECT_LE(w[b * n + j - 1], w[b * n + j]);
          double norm = 0;
          for (int64_t i = 0; i < n; ++i) {
            Wide sum = 0;
            for (int64_t p = 0; p < n; ++p) {
              sum += Wide(full[(b * n + i) * n + p]) * Wide(v[(b * n + p) * n + j]);
            }
            const Wide x = v[(b * n + i) * n + j];
            norm += std::norm(x);
            EXPECT_LT(std::abs(sum - double(w[b * n + j]) * x), n * kTolerance<T>);
          }
          EXPECT_NEAR(norm, 1, n * kTolerance<T>);
        }
      }
    }
  }
}

TEST(Decompositions, EigenvaluesOfNanAreNan) {
  std::vector<double> a(9, std::nan("")), v(9), w(3);
  TestRun run(1);
  DecompositionDescriptor d{Decomposition::kEigh, ElementType::kF64, 1, 0, 1, 3, 3, 0};
  void* buffers[] = {a.data(), v.data(), w.data()};
  ASSERT_EQ(isthmus_rt_decompose(&run.run, &d, buffers), 0);
  for (double x : w) EXPECT_TRUE(std::isnan(x));
}

}  // namespace
}  // namespace isthmus::cpu
