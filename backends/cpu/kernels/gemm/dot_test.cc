// isthmus_rt_dot against loops over indices in the order of StableHLO's specification.
#include "backends/cpu/kernels/gemm/dot.h"
#include "backends/cpu/kernels/gemm/gemm_kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <mutex>
#include <numeric>
#include <set>

#include "backends/cpu/kernels/isa_testing.h"
#include "backends/cpu/kernels/kernel_testing.h"

namespace isthmus::cpu {
namespace {

using testing::randomElements;
using testing::TestRun;

struct Case {
  ElementType lhsType = ElementType::kF32, rhsType = ElementType::kF32,
              resultType = ElementType::kF32;
  std::vector<int64_t> lhsDims, rhsDims, lhsBatching, rhsBatching, lhsContracting, rhsContracting;
};

std::vector<int64_t> freeDimensions(size_t rank, const std::vector<int64_t>& a,
                                    const std::vector<int64_t>& b) {
  std::vector<int64_t> free;
  for (size_t i = 0; i < rank; ++i) {
    auto has = [&](const std::vector<int64_t>& v) {
      return std::find(v.begin(), v.end(), static_cast<int64_t>(i)) != v.end();
    };
    if (!has(a) && !has(b)) free.push_back(static_cast<int64_t>(i));
  }
  return free;
}

int64_t product(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Advances a multi-index; false after the last.
bool advance(std::vector<int64_t>& index, const std::vector<int64_t>& sizes) {
  for (size_t i = index.size(); i-- > 0;) {
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

using Wide = testing::SumOfProducts::Wide;

Wide loadWide(const std::vector<char>& data, ElementType type, int64_t index) {
  if (elementClass(type) == ElementClass::kComplex) {
    auto value = loadElement<Complex128>(data.data(), type, index);
    return {value.re, value.im};
  }
  return {loadElement<double>(data.data(), type, index), 0};
}

std::vector<int64_t> stridesOf(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// Visits every result in its order, with its terms in `sum`.
template <typename Visit>
void forEachResult(const Case& c, testing::SumOfProducts& sum, Visit visit) {
  auto lhsStrides = stridesOf(c.lhsDims), rhsStrides = stridesOf(c.rhsDims);
  // Of each dimension of the result: its size, and how far a step of it is in either operand.
  std::vector<int64_t> sizes, lhsSteps, rhsSteps;
  auto addDimension = [&](int64_t size, int64_t lhsStep, int64_t rhsStep) {
    sizes.push_back(size), lhsSteps.push_back(lhsStep), rhsSteps.push_back(rhsStep);
  };
  for (size_t i = 0; i < c.lhsBatching.size(); ++i) {
    const int64_t d = c.lhsBatching[i];
    addDimension(c.lhsDims[d], lhsStrides[d], rhsStrides[c.rhsBatching[i]]);
  }
  for (int64_t d : freeDimensions(c.lhsDims.size(), c.lhsBatching, c.lhsContracting)) {
    addDimension(c.lhsDims[d], lhsStrides[d], 0);
  }
  for (int64_t d : freeDimensions(c.rhsDims.size(), c.rhsBatching, c.rhsContracting)) {
    addDimension(c.rhsDims[d], 0, rhsStrides[d]);
  }
  if (product(sizes) == 0) return;

  std::vector<int64_t> depths;
  for (int64_t d : c.lhsContracting) depths.push_back(c.lhsDims[d]);
  std::vector<std::pair<int64_t, int64_t>> terms;  // offsets from a result's first operands
  std::vector<int64_t> k(depths.size(), 0);
  if (product(depths) > 0) do {
      int64_t l = 0, r = 0;
      for (size_t i = 0; i < k.size(); ++i) {
        l += k[i] * lhsStrides[c.lhsContracting[i]];
        r += k[i] * rhsStrides[c.rhsContracting[i]];
      }
      terms.emplace_back(l, r);
    } while (advance(k, depths));

  std::vector<int64_t> index(sizes.size(), 0);
  int64_t position = 0;
  do {
    const int64_t l = std::inner_product(index.begin(), index.end(), lhsSteps.begin(), int64_t{0});
    const int64_t r = std::inner_product(index.begin(), index.end(), rhsSteps.begin(), int64_t{0});
    sum.reset();
    for (auto [lhs, rhs] : terms) sum.add(l + lhs, r + rhs);
    visit(position++);
  } while (advance(index, sizes));
}

double epsilon(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kC128:
      return 1e-15;
    case ElementType::kF32:
    case ElementType::kC64:
      return 2e-7;
    case ElementType::kF16:
      return 1e-3;
    case ElementType::kBF16:
      return 8e-3;
    default:
      return 0;
  }
}

int64_t resultElements(const Case& c) {
  int64_t n = 1;
  for (int64_t d : c.lhsBatching) n *= c.lhsDims[d];
  for (int64_t d : freeDimensions(c.lhsDims.size(), c.lhsBatching, c.lhsContracting)) {
    n *= c.lhsDims[d];
  }
  for (int64_t d : freeDimensions(c.rhsDims.size(), c.rhsBatching, c.rhsContracting)) {
    n *= c.rhsDims[d];
  }
  return n;
}

StatusOr<DotDescriptor> describe(const Case& c) {
  return makeDotDescriptor({c.lhsType, c.lhsDims, {}}, {c.rhsType, c.rhsDims, {}}, c.resultType,
                           c.lhsBatching, c.rhsBatching, c.lhsContracting, c.rhsContracting);
}

std::string describeCase(const Case& c) {
  std::string text = "types " + std::to_string(int(c.lhsType)) + "," +
                     std::to_string(int(c.rhsType)) + "->" + std::to_string(int(c.resultType));
  auto add = [&](const char* name, const std::vector<int64_t>& v) {
    text += std::string(" ") + name + "[";
    for (int64_t x : v) text += std::to_string(x) + " ";
    text += "]";
  };
  add("lhs", c.lhsDims), add("rhs", c.rhsDims), add("lb", c.lhsBatching), add("rb", c.rhsBatching);
  add("lc", c.lhsContracting), add("rc", c.rhsContracting);
  return text;
}

void checkCase(const Case& c, std::mt19937& rng, int threads = 2) {
  SCOPED_TRACE(describeCase(c));
  auto descriptor = describe(c);
  ASSERT_TRUE(descriptor.ok()) << descriptor.status().message();
  std::vector<char> lhs = randomElements(c.lhsType, product(c.lhsDims), rng);
  std::vector<char> rhs = randomElements(c.rhsType, product(c.rhsDims), rng);
  int64_t elements = resultElements(c);
  std::vector<char> result(static_cast<size_t>(elements) * storageBytes(c.resultType), 0x55);
  TestRun run(threads);
  void* buffers[] = {lhs.data(), rhs.data(), result.data()};
  ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0) << run.status.message();
  EXPECT_EQ(run.services.liveScratchBytes(), 0);
  // The same where the form was decided before, here or where other kernels are.
  for (bool isFromElsewhere : {false, true}) {
    DotDescriptor decided = *descriptor;
    chooseDotForm(nearCacheBytes(), decided);
    EXPECT_NE(decided.form, DotForm::kUndecided);
    if (isFromElsewhere) {
      decided.form = DotForm::kRowTimesMatrix;
      decided.flags ^= kDotIsSwapped | kDotIsNear;
      decided.formKernels = hostKernels() + 1;
    }
    std::vector<char> again(result.size(), 0x55);
    buffers[2] = again.data();
    ASSERT_EQ(isthmus_rt_dot(&run.run, &decided, buffers), 0) << run.status.message();
    EXPECT_EQ(again, result) << describeForm(decided);
  }
  int failures = 0;
  testing::SumOfProducts reference(lhs, c.lhsType, rhs, c.rhsType);
  forEachResult(c, reference, [&](int64_t position) {
    if (failures > 3) return;
    ElementClass kind = elementClass(c.resultType);
    if (kind == ElementClass::kFloat || kind == ElementClass::kComplex) {
      const Wide sum = reference.sum();
      const long double scale = reference.scale();
      Wide got = loadWide(result, c.resultType, position);
      long double bound = epsilon(c.resultType) * std::abs(sum) +
                          scale * (epsilon(c.resultType) < 1e-12 ? 4e-16 : 3e-7);
      bool good = std::abs(got - sum) <= bound;
      if (isFloat8OrSmaller(c.resultType)) {
        // Rounding to such a format is tested elsewhere: the sum must lie between its neighbours.
        auto round = [&](long double value) {
          return smallFloatTable(c.resultType)[encodeSmallFloat(c.resultType, float(value))];
        };
        auto slack = scale * 3e-7;
        good =
            (got.real() >= round(sum.real() - slack) && got.real() <= round(sum.real() + slack)) ||
            std::isnan(round(sum.real()));
      }
      if (!good) {
        ++failures;
        ADD_FAILURE() << "at " << position << ": got " << double(got.real()) << "+"
                      << double(got.imag()) << "i, expected " << double(sum.real()) << "+"
                      << double(sum.imag()) << "i";
      }
    } else {
      const uint64_t sum = reference.integerSum();
      std::vector<char> expected(storageBytes(c.resultType));
      storeElement<uint64_t>(expected.data(), c.resultType, 0, sum);
      if (std::memcmp(expected.data(), result.data() + position * int64_t(expected.size()),
                      expected.size()) != 0) {
        ++failures;
        ADD_FAILURE() << "at " << position << ": wrong integer, expected " << sum;
      }
    }
  });
}

Case matmul(int64_t m, int64_t n, int64_t k, ElementType type = ElementType::kF32) {
  Case c;
  c.lhsType = c.rhsType = c.resultType = type;
  c.lhsDims = {m, k};
  c.rhsDims = {k, n};
  c.lhsContracting = {1};
  c.rhsContracting = {0};
  return c;
}

// Every instruction set level that this machine has.
class DotTest : public testing::IsaTest {};

INSTANTIATE_TEST_SUITE_P(Isa, DotTest, testing::everyIsa(), testing::nameOfIsa);

TEST_P(DotTest, SmallSizesOfEveryLayout) {
  std::mt19937 rng(1);
  for (int64_t m : {1, 2, 3, 5, 6, 7, 13, 17}) {
    for (int64_t n : {1, 2, 7, 8, 15, 16, 17, 33}) {
      for (int64_t k : {1, 2, 5, 9, 16, 31}) {
        for (int layout = 0; layout < 4; ++layout) {
          Case c = matmul(m, n, k);
          if (layout & 1) c.lhsDims = {k, m}, c.lhsContracting = {0};
          if (layout & 2) c.rhsDims = {n, k}, c.rhsContracting = {1};
          checkCase(c, rng, 1);
        }
      }
    }
  }
}

TEST_P(DotTest, LargerSizesAcrossBlockEdges) {
  std::mt19937 rng(2);
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{1, 1000, 70},
                                                            {300, 1, 70},
                                                            {70, 3, 600},
                                                            {3, 70, 600},
                                                            {17, 40, 1300},
                                                            {250, 35, 20},
                                                            {133, 60, 30},
                                                            {2, 2, 3000},
                                                            {10, 1100, 9},
                                                            {150, 17, 65},
                                                            {11, 9, 900},
                                                            {9, 70, 2000},
                                                            {200, 100, 5},
                                                            {61, 16, 700},
                                                            {17, 70, 1024},
                                                            {900, 40, 160},
                                                            {150, 32, 600},
                                                            {20, 12000, 3}}) {
    for (int layout = 0; layout < 4; ++layout) {
      Case c = matmul(m, n, k);
      if (layout & 1) c.lhsDims = {k, m}, c.lhsContracting = {0};
      if (layout & 2) c.rhsDims = {n, k}, c.rhsContracting = {1};
      checkCase(c, rng, 1 + layout % 3);
    }
  }
}

// Whose rows push each other out of the cache: copied by each thread, and once for all of them.
TEST_P(DotTest, RowsAPageApart) {
  std::mt19937 rng(8);
  for (int64_t rows : {13, 45}) {
    for (int threads : {1, 2, 5}) {
      checkCase(matmul(rows, 350, 1024), rng, threads);
      checkCase(matmul(rows, 350, 512, ElementType::kF64), rng, threads);
    }
  }
}

// One to four vectors of columns, by rows that are too many for a few tiles, in one part of the
// steps and in several.
TEST_P(DotTest, FewColumnsOfLongRows) {
  std::mt19937 rng(7);
  for (ElementType type : {ElementType::kF32, ElementType::kF64}) {
    const int64_t lanes =
        gemmKernels(type == ElementType::kF32 ? GemmDomain::kF32 : GemmDomain::kF64).vectorLanes;
    for (int64_t rows : {85, 101}) {
      for (int64_t vectors : {1, 2, 3, 4}) {
        for (int64_t depth : {65, 700, 2100}) {
          checkCase({type, type, type, {rows, depth}, {depth, vectors * lanes}, {}, {}, {1}, {0}},
                    rng, rows == 85 ? 1 : 3);
        }
      }
    }
  }
}

// Columns that fill no vector are gathered or padded: once where threads share them, in each task
// where items differ. With the terms of either operand side by side, and apart.
TEST_P(DotTest, FewColumnsThatFillNoVector) {
  std::mt19937 rng(17);
  for (ElementType type : {ElementType::kF32, ElementType::kF64}) {
    for (int64_t columns : {2, 5, 10, 13, 24}) {
      for (int64_t depth : {70, 260}) {
        Case c = matmul(101, columns, depth, type);
        checkCase(c, rng, columns % 2 == 0 ? 1 : 3);
        c.rhsDims = {columns, depth}, c.rhsContracting = {1};
        checkCase(c, rng, columns % 2 == 0 ? 3 : 1);
        c.lhsDims = {depth, 101}, c.lhsContracting = {0};
        checkCase(c, rng, columns % 2 == 0 ? 1 : 3);
        c = {type, type, type, {5, 70, depth}, {5, depth, columns}, {0}, {0}, {2}, {1}};
        checkCase(c, rng, columns % 2 == 0 ? 3 : 1);
        c = {type, type, type, {5, depth, 90}, {5, depth, columns}, {0}, {0}, {1}, {1}};
        checkCase(c, rng, columns % 2 == 0 ? 1 : 3);
      }
    }
  }
}

// The other way round: few rows, whose terms lie side by side or apart.
TEST_P(DotTest, FewRowsOfManyColumns) {
  std::mt19937 rng(19);
  for (ElementType type : {ElementType::kF32, ElementType::kF64}) {
    for (int64_t rows : {3, 5, 10, 16, 17}) {
      for (int64_t depth : {70, 260}) {
        Case c = matmul(rows, 101, depth, type);
        checkCase(c, rng, rows % 2 == 0 ? 1 : 3);
        c.rhsDims = {101, depth}, c.rhsContracting = {1};
        checkCase(c, rng, rows % 2 == 0 ? 3 : 1);
        c.lhsDims = {depth, rows}, c.lhsContracting = {0};
        checkCase(c, rng, rows % 2 == 0 ? 1 : 3);
      }
    }
  }
}

// Of few steps, for many rows and columns, where those of an operand are a page apart.
TEST_P(DotTest, FewStepsAPageApart) {
  std::mt19937 rng(13);
  auto check = [&](int64_t m, int64_t n, int64_t k, ElementType type) {
    Case c = matmul(m, n, k, type);
    checkCase(c, rng, 1);
    c.lhsDims = {k, m}, c.lhsContracting = {0};
    checkCase(c, rng, 2);
  };
  check(120, 1024, 64, ElementType::kF32);
  check(1024, 131, 64, ElementType::kF32);
  check(120, 512, 17, ElementType::kF64);
  check(512, 131, 17, ElementType::kF64);
}

TEST_P(DotTest, VectorsTimesNearMatrices) {
  std::mt19937 rng(10);
  for (ElementType type : {ElementType::kF32, ElementType::kF64}) {
    for (int64_t n : {8, 17, 33, 47, 64, 100, 129, 255, 385, 500}) {
      for (int64_t k : {8, 21, 64, 131}) {
        for (bool isLeft : {false, true}) {
          Case c = isLeft ? matmul(n, 1, k, type) : matmul(1, n, k, type);
          c.lhsDims = isLeft ? std::vector{n, k} : std::vector{k};
          c.rhsDims = isLeft ? std::vector{k} : std::vector{k, n};
          c.lhsContracting = {isLeft ? 1 : 0};
          checkCase(c, rng, 2);
          // The matrix the other way round.
          (isLeft ? c.lhsDims : c.rhsDims) = isLeft ? std::vector{k, n} : std::vector{n, k};
          (isLeft ? c.lhsContracting : c.rhsContracting) = {isLeft ? 0 : 1};
          checkCase(c, rng, 2);
        }
      }
    }
  }
}

// The steps that fill no vector are read with some before them: an infinity there is added once.
TEST_P(DotTest, InfinityBeforeTheLastSteps) {
  constexpr int64_t n = 37, k = 21;
  std::vector<float> matrix(n * k, 1), vector(k, 1), result(n);
  for (int64_t i = 0; i < n; ++i) matrix[i * k + i % k] = INFINITY;
  Case c = matmul(n, 1, k);
  c.rhsDims = {k};
  auto descriptor = describe(c);
  TestRun run(1);
  void* buffers[] = {matrix.data(), vector.data(), result.data()};
  ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
  for (int64_t i = 0; i < n; ++i) EXPECT_EQ(result[i], INFINITY) << i;
}

// Threads that divide a product by columns round it as one does.
TEST_P(DotTest, RoundsAlikeOnAnyThreads) {
  std::mt19937 rng(11);
  for (auto [b, m, n, k] : std::vector<std::array<int64_t, 4>>{{1, 1, 1000, 1000},
                                                               {11, 1, 192, 341},
                                                               {15, 1, 250, 250},
                                                               {1, 64, 300, 1024},
                                                               {1, 900, 100, 160},
                                                               {1, 30, 20, 9000},
                                                               {2, 900, 300, 160}}) {
    Case c = matmul(m, n, k);
    c.lhsDims = {b, m, k}, c.rhsDims = {b, k, n};
    c.lhsBatching = c.rhsBatching = {0};
    c.lhsContracting = {2}, c.rhsContracting = {1};
    auto descriptor = describe(c);
    ASSERT_TRUE(descriptor.ok());
    auto lhs = randomElements(c.lhsType, b * m * k, rng);
    auto rhs = randomElements(c.rhsType, b * k * n, rng);
    std::vector<float> one;
    for (int threads : {1, 2, 32}) {
      std::vector<float> result(b * m * n);
      TestRun run(threads);
      void* buffers[] = {lhs.data(), rhs.data(), result.data()};
      ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
      if (threads == 1) one = result;
      EXPECT_EQ(result, one) << n << " columns, " << threads << " threads";
    }
  }
}

// Of one sign, whose sum in one chain would lose a digit: in tiles in place, of few rows and of few
// columns.
TEST_P(DotTest, LongSumsRoundLittle) {
  std::mt19937 rng(20);
  std::uniform_real_distribution<float> uniform(0, 1);
  constexpr int64_t k = 4000;
  for (auto [m, n] : std::vector<std::array<int64_t, 2>>{{20, 130}, {150, 32}, {150, 20}}) {
    std::vector<float> lhs(m * k, 0.1f), rhs(k * n), result(m * n);
    std::vector<double> expected(n);
    for (size_t i = 0; i < rhs.size(); ++i) {
      rhs[i] = uniform(rng);
      expected[i % n] += double{rhs[i]} * double{lhs[0]};
    }
    TestRun run(2);
    auto descriptor = describe(matmul(m, n, k));
    void* buffers[] = {lhs.data(), rhs.data(), result.data()};
    ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0) << run.status.message();
    for (size_t i = 0; i < result.size(); ++i) {
      ASSERT_NEAR(result[i] / expected[i % n], 1, 6e-7) << m << "x" << n;
    }
  }
}

// Of many terms and few results, parts of the terms are summed first: equal ones, and what is left
// over; along the outermost dimension, where terms have several. In each layout and form.
TEST_P(DotTest, SplitsManyTerms) {
  std::mt19937 rng(19);
  using enum ElementType;
  auto checkLayouts = [&](Case c) {
    const int64_t m = c.lhsDims[0], k = c.lhsDims[1], n = c.rhsDims[1];
    for (int layout = 0; layout < 4; ++layout) {
      if (layout & 1) c.lhsDims = {k, m}, c.lhsContracting = {0};
      if (layout & 2) c.rhsDims = {n, k}, c.rhsContracting = {1};
      checkCase(c, rng, 1 + layout);
    }
  };
  for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 16, 20011}, {2, 2, 40000}, {5, 100, 4100}, {33, 40, 4227}}) {
    checkLayouts(matmul(m, n, k));
  }
  for (auto [type, resultType] :
       {std::pair{kF64, kF64}, {kBF16, kBF16}, {kBF16, kF32}, {kF16, kF16}}) {
    Case c = matmul(9, 16, 4100, type);
    c.resultType = resultType;
    checkLayouts(c);
  }
  checkCase({kF32, kF32, kF32, {20, 61, 70}, {61, 9, 70}, {}, {}, {1, 2}, {0, 2}}, rng);
  checkCase({kF32, kF32, kF32, {3, 20, 5000}, {3, 5000, 20}, {0}, {0}, {2}, {1}}, rng);
  for (auto [type, parts] : {std::pair{kF32, ", in 4 parts of the terms"}, {kS32, ""}}) {
    DotDescriptor descriptor = *describe(matmul(50, 16, 8192, type));
    chooseDotForm(nearCacheBytes(), descriptor);
    EXPECT_TRUE(describeForm(descriptor).ends_with(parts)) << describeForm(descriptor);
  }
}

// So deep that the right operand is packed in several parts.
TEST_P(DotTest, DeepSums) {
  std::mt19937 rng(8);
  for (auto [m, n, k, threads] :
       std::vector<std::array<int64_t, 4>>{{160, 3, 33500, 1}, {126, 2, 133000, 3}}) {
    std::vector<int32_t> lhs(m * k), rhs(k * n), expected(m * n);
    for (auto& x : lhs) x = static_cast<int32_t>(rng());
    for (auto& x : rhs) x = static_cast<int32_t>(rng());
    for (int64_t row = 0; row < m; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t col = 0; col < n; ++col) {
          auto& sum = reinterpret_cast<uint32_t&>(expected[row * n + col]);
          sum += uint32_t(lhs[row * k + i]) * uint32_t(rhs[i * n + col]);
        }
      }
    }
    Case c = matmul(m, n, k, ElementType::kS32);
    TestRun run(static_cast<int>(threads));
    auto wide = describe(c);
    std::vector<int32_t> result(m * n);
    void* buffers[] = {lhs.data(), rhs.data(), result.data()};
    ASSERT_EQ(isthmus_rt_dot(&run.run, &*wide, buffers), 0);
    EXPECT_EQ(result, expected);
    // A result of another type than the sums goes another way.
    c.resultType = ElementType::kS16;
    auto narrow = describe(c);
    std::vector<int16_t> narrowResult(m * n);
    buffers[2] = narrowResult.data();
    ASSERT_EQ(isthmus_rt_dot(&run.run, &*narrow, buffers), 0);
    for (int64_t i = 0; i < m * n; ++i) ASSERT_EQ(narrowResult[i], int16_t(expected[i]));
  }
}

// Operands at the beginnings of cache lines, as the runtime's buffers are: some machines read rows
// of narrow types where they lie. Shapes for each way of sharing work between threads. Sums of
// small integers are exact.
TEST_P(DotTest, NarrowRowsInPlace) {
  std::mt19937 rng(9);
  for (auto [b, m, n, k, threads] : std::vector<std::array<int64_t, 5>>{{1, 300, 70, 1088, 1},
                                                                        {1, 40, 300, 64, 2},
                                                                        {1, 130, 1100, 1024, 2},
                                                                        {1, 320, 140, 800, 2},
                                                                        {1, 200, 66, 4160, 3},
                                                                        {2, 130, 300, 640, 2},
                                                                        {6, 33, 65, 96, 2}}) {
    std::vector<int8_t> lhs(b * m * k), rhs(b * k * n);
    for (auto& x : lhs) x = static_cast<int8_t>(rng() % 9) - 4;
    for (auto& x : rhs) x = static_cast<int8_t>(rng() % 9) - 4;
    std::vector<int32_t> expected(b * m * n);
    for (int64_t row = 0; row < b * m; ++row) {
      for (int64_t i = 0; i < k; ++i) {
        const int8_t* right = rhs.data() + (row / m * k + i) * n;
        for (int64_t col = 0; col < n; ++col)
          expected[row * n + col] += lhs[row * k + i] * right[col];
      }
    }
    for (ElementType type : {ElementType::kS8, ElementType::kBF16}) {
      const ElementType sumType = type == ElementType::kS8 ? ElementType::kS32 : ElementType::kF32;
      SCOPED_TRACE(::testing::Message()
                   << b << "x" << m << "x" << n << "x" << k << ", type " << static_cast<int>(type));
      Case c = matmul(m, n, k, type);
      c.resultType = sumType;
      c.lhsDims = {b, m, k}, c.rhsDims = {b, k, n};
      c.lhsBatching = c.rhsBatching = {0};
      c.lhsContracting = {2}, c.rhsContracting = {1};
      auto copyOf = [](size_t elements, ElementType of) {
        return testing::AlignedCopy(std::vector<char>(elements * storageBytes(of)));
      };
      auto left = copyOf(lhs.size(), type), right = copyOf(rhs.size(), type);
      auto result = copyOf(expected.size(), sumType);
      for (size_t i = 0; i < lhs.size(); ++i) storeElement<double>(left.data(), type, i, lhs[i]);
      for (size_t i = 0; i < rhs.size(); ++i) storeElement<double>(right.data(), type, i, rhs[i]);
      TestRun run(static_cast<int>(threads));
      void* buffers[] = {left.data(), right.data(), result.data()};
      auto descriptor = describe(c);
      ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(loadElement<double>(result.data(), sumType, i), expected[i]) << i;
      }
    }
  }
}

TEST_P(DotTest, EveryElementType) {
  std::mt19937 rng(3);
  for (int type = 1; type <= 33; ++type) {
    auto elementType = static_cast<ElementType>(type);
    if (elementClass(elementType) == ElementClass::kNone) continue;

    for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{5, 7, 9}, {40, 50, 300}}) {
      checkCase(matmul(m, n, k, elementType), rng);
      Case transposed = matmul(m, n, k, elementType);
      transposed.lhsDims = {k, m}, transposed.lhsContracting = {0};
      transposed.rhsDims = {n, k}, transposed.rhsContracting = {1};
      checkCase(transposed, rng);
    }
  }
}

TEST_P(DotTest, MixedElementTypes) {
  std::mt19937 rng(4);
  using E = ElementType;
  for (auto [l, r, t] : std::vector<std::array<E, 3>>{{E::kBF16, E::kBF16, E::kF32},
                                                      {E::kF16, E::kF16, E::kF32},
                                                      {E::kS8, E::kS8, E::kS32},
                                                      {E::kU8, E::kS8, E::kS32},
                                                      {E::kS4, E::kS4, E::kS32},
                                                      {E::kU8, E::kU8, E::kU32},
                                                      {E::kF8E4M3FN, E::kF8E5M2, E::kF32},
                                                      {E::kF8E4M3FN, E::kF8E4M3FN, E::kBF16},
                                                      {E::kBF16, E::kF32, E::kF32},
                                                      {E::kF32, E::kF32, E::kF64},
                                                      {E::kS8, E::kS8, E::kF32},
                                                      {E::kS16, E::kS16, E::kS64},
                                                      {E::kU16, E::kU16, E::kU32},
                                                      {E::kS32, E::kS32, E::kS8},
                                                      {E::kF32, E::kF32, E::kBF16},
                                                      {E::kC64, E::kC64, E::kC128},
                                                      {E::kS16, E::kS16, E::kS32},
                                                      {E::kF8E8M0FNU, E::kF32, E::kF32}}) {
    for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{3, 5, 7}, {33, 47, 300}}) {
      Case c = matmul(m, n, k);
      c.lhsType = l, c.rhsType = r, c.resultType = t;
      checkCase(c, rng);
    }
  }
}

// Several steps are packed and multiplied at once: every layout, odd depths, edges of blocks.
TEST_P(DotTest, NarrowElements) {
  std::mt19937 rng(9);
  using E = ElementType;
  for (auto [l, r, t] : std::vector<std::array<E, 3>>{{E::kBF16, E::kBF16, E::kF32},
                                                      {E::kBF16, E::kBF16, E::kBF16},
                                                      {E::kS8, E::kS8, E::kS32},
                                                      {E::kS4, E::kS8, E::kS32},
                                                      {E::kU8, E::kS8, E::kS32},
                                                      {E::kS16, E::kS8, E::kS32}}) {
    for (auto [m, n, k] : std::vector<std::array<int64_t, 3>>{{14, 32, 64},
                                                              {15, 33, 67},
                                                              {29, 65, 133},
                                                              {1, 40, 257},
                                                              {40, 1, 257},
                                                              {17, 19, 2051}}) {
      for (int layout = 0; layout < 4; ++layout) {
        Case c = matmul(m, n, k);
        c.lhsType = l, c.rhsType = r, c.resultType = t;
        if (layout & 1) c.lhsDims = {k, m}, c.lhsContracting = {0};
        if (layout & 2) c.rhsDims = {n, k}, c.rhsContracting = {1};
        checkCase(c, rng, 1 + layout % 2);
      }
    }
  }
}

// The largest magnitudes of bytes, whose sums no 16 bits hold.
TEST_P(DotTest, LargestBytes) {
  Case c = matmul(20, 40, 300, ElementType::kS8);
  c.resultType = ElementType::kS32;
  std::vector<int8_t> lhs(20 * 300, -128), rhs(300 * 40, -128);
  for (size_t i = 0; i < rhs.size(); i += 40) rhs[i] = 127;
  std::vector<int32_t> result(20 * 40);
  TestRun run(1);
  auto descriptor = describe(c);
  void* buffers[] = {lhs.data(), rhs.data(), result.data()};
  ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
  for (int64_t i = 0; i < 20 * 40; ++i) {
    ASSERT_EQ(result[i], i % 40 == 0 ? -128 * 127 * 300 : 128 * 128 * 300) << i;
  }
}

TEST_P(DotTest, RandomDimensionNumbers) {
  std::mt19937 rng(5);
  using E = ElementType;
  const E types[] = {E::kF32, E::kF64, E::kBF16, E::kS32, E::kS8,  E::kU8,
                     E::kS16, E::kU16, E::kS4,   E::kC64, E::kPred};
  for (int round = 0; round < 250; ++round) {
    Case c;
    c.lhsType = c.rhsType = c.resultType = types[rng() % std::size(types)];
    struct Dim {
      int64_t size;
      int kind;  // 0 batch, 1 lhs free, 2 rhs free, 3 contracting
    };
    std::vector<Dim> dims;
    for (int kind = 0; kind < 4; ++kind) {
      for (int i = rng() % 3; i > 0; --i) dims.push_back({1 + int64_t(rng() % 6), kind});
    }
    auto place = [&](int other) {
      std::vector<int> order;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i].kind != other) order.push_back(int(i));
      }
      std::shuffle(order.begin(), order.end(), rng);
      return order;
    };
    std::vector<int> l = place(2), r = place(1);
    for (int d : l) c.lhsDims.push_back(dims[d].size);
    for (int d : r) c.rhsDims.push_back(dims[d].size);
    for (int d = 0; d < int(dims.size()); ++d) {
      auto position = [&](const std::vector<int>& v) {
        return int64_t(std::find(v.begin(), v.end(), d) - v.begin());
      };
      if (dims[d].kind == 0) {
        c.lhsBatching.push_back(position(l));
        c.rhsBatching.push_back(position(r));
      } else if (dims[d].kind == 3) {
        c.lhsContracting.push_back(position(l));
        c.rhsContracting.push_back(position(r));
      }
    }
    checkCase(c, rng, 1 + round % 3);
  }
}

TEST_P(DotTest, EmptyDimensions) {
  std::mt19937 rng(6);
  checkCase(matmul(3, 4, 0), rng);
  checkCase(matmul(0, 4, 3), rng);
  checkCase(matmul(3, 0, 3), rng);
  checkCase(matmul(3, 4, 0, ElementType::kBF16), rng);
  checkCase(matmul(3, 4, 0, ElementType::kC64), rng);
}

TEST_P(DotTest, StridedAndBroadcastOperands) {
  // lhs is every second row of a 2-D array, read backwards along k; rhs is a broadcast vector.
  std::vector<float> lhs(40), rhs(5), result(4 * 3);
  std::iota(lhs.begin(), lhs.end(), 1.0f);
  std::iota(rhs.begin(), rhs.end(), -2.0f);
  std::vector<int64_t> lhsDims{4, 5}, lhsStrides{10, -1}, rhsDims{5, 3}, rhsStrides{1, 0};
  std::vector<int64_t> one{1}, zero{0};
  auto descriptor = makeDotDescriptor({ElementType::kF32, lhsDims, lhsStrides},
                                      {ElementType::kF32, rhsDims, rhsStrides}, ElementType::kF32,
                                      {}, {}, one, zero);
  ASSERT_TRUE(descriptor.ok());
  TestRun run(1);
  void* buffers[] = {lhs.data() + 4, rhs.data(), result.data()};
  ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
  for (int m = 0; m < 4; ++m) {
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += lhs[4 + m * 10 - k] * rhs[k];
    for (int n = 0; n < 3; ++n) EXPECT_EQ(result[m * 3 + n], sum);
  }
}

// The epilogue must see finished values, and each element exactly once.
struct EpilogueRecord {
  float* output;
  int64_t cols;
  std::mutex mutex;
  std::vector<int> visits;
};

void recordEpilogue(void* const* buffers, int64_t rowBegin, int64_t rowEnd, int64_t colBegin,
                    int64_t colEnd, const void* sums, int64_t ldSums) {
  auto* record = static_cast<EpilogueRecord*>(buffers[4]);
  for (int64_t r = rowBegin; r < rowEnd; ++r) {
    for (int64_t c = colBegin; c < colEnd; ++c) {
      const float sum = static_cast<const float*>(sums)[(r - rowBegin) * ldSums + c - colBegin];
      record->output[r * record->cols + c] = 2 * sum + 1;
    }
  }
  std::lock_guard lock(record->mutex);
  for (int64_t r = rowBegin; r < rowEnd; ++r) {
    for (int64_t c = colBegin; c < colEnd; ++c) ++record->visits[r * record->cols + c];
  }
}

TEST_P(DotTest, EpilogueSeesEachFinishedElementOnce) {
  std::mt19937 rng(7);
  for (auto [b, m, n, k] : std::vector<std::array<int64_t, 4>>{{1, 4, 5, 6},
                                                               {1, 130, 600, 700},
                                                               {3, 20, 30, 40},
                                                               {1, 1, 300, 50},
                                                               {1, 300, 1, 50},
                                                               {1, 900, 300, 160},
                                                               {1, 300, 260, 0},
                                                               {2, 30, 20, 4200},
                                                               {1, 200, 140, 33000},
                                                               {40, 3, 3, 3}}) {
    Case c = matmul(m, n, k);
    c.lhsDims = {b, m, k}, c.rhsDims = {b, k, n};
    c.lhsBatching = c.rhsBatching = {0};
    c.lhsContracting = {2}, c.rhsContracting = {1};
    SCOPED_TRACE(describeCase(c));
    auto descriptor = describe(c);
    ASSERT_TRUE(descriptor.ok());
    auto lhs = randomElements(c.lhsType, product(c.lhsDims), rng);
    auto rhs = randomElements(c.rhsType, product(c.rhsDims), rng);
    std::vector<float> plain(b * m * n), fused(b * m * n), output(b * m * n);
    TestRun run(3);
    void* plainBuffers[] = {lhs.data(), rhs.data(), plain.data()};
    ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, plainBuffers), 0);
    descriptor->flags |= kDotHasEpilogue;
    // With memory for the sums, and without.
    for (int32_t sumsBuffer : {2, -1}) {
      SCOPED_TRACE(sumsBuffer);
      descriptor->sumsBuffer = sumsBuffer;
      EpilogueRecord record{output.data(), n, {}, std::vector<int>(b * m * n)};
      void* buffers[] = {lhs.data(), rhs.data(), sumsBuffer < 0 ? nullptr : fused.data(),
                         reinterpret_cast<void*>(&recordEpilogue), &record};
      ASSERT_EQ(isthmus_rt_dot(&run.run, &*descriptor, buffers), 0);
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(record.visits[i], 1) << i;
        ASSERT_NEAR(output[i], 2 * plain[i] + 1, 1e-3) << i;
      }
    }
  }
}

TEST(DotDescriptorTest, MergesDimensionsOfOneStride) {
  Case c;
  c.lhsDims = {2, 3, 4, 5}, c.rhsDims = {4, 5, 6, 7};
  c.lhsContracting = {2, 3}, c.rhsContracting = {0, 1};
  auto d = describe(c);
  ASSERT_TRUE(d.ok());
  EXPECT_EQ(d->batchRank, 0);
  EXPECT_EQ(d->mRank, 1);
  EXPECT_EQ(d->nRank, 1);
  EXPECT_EQ(d->kRank, 1);
  EXPECT_EQ(d->dims[2].size, 20);
}

TEST(DotDescriptorTest, FormsSuitTheShape) {
  // What the machine has decides how wide vectors are, and with that what is few.
  auto formOf = [](ElementType type, const std::vector<int64_t>& lhs,
                   const std::vector<int64_t>& rhs, int64_t rhsContracting, std::string* reason) {
    const auto contracting = static_cast<int64_t>(lhs.size()) - 1;
    Case c{type, type, type, lhs, rhs, {}, {}, {contracting}, {rhsContracting}};
    DotDescriptor descriptor = *describe(c);
    *reason = chooseDotForm(int64_t{512} << 10, descriptor);
    std::string form = describeForm(descriptor);
    return form.substr(0, form.find(' ')) + form.substr(std::min(form.find(','), form.size()));
  };
  const auto f32 = ElementType::kF32;
  std::string reason;
  EXPECT_EQ(formOf(f32, {100}, {100, 300}, 0, &reason), "row_times_matrix, near");
  EXPECT_EQ(reason, "");
  EXPECT_EQ(formOf(f32, {4000}, {4000, 3000}, 0, &reason), "row_times_matrix");
  EXPECT_EQ(formOf(f32, {300, 100}, {100}, 0, &reason), "dot_products, swapped, near");
  EXPECT_EQ(reason, "row_times_matrix: columns lie apart");
  EXPECT_EQ(formOf(f32, {3, 100}, {300, 100}, 1, &reason), "dot_products");
  EXPECT_EQ(reason, "row_times_matrix: several rows and columns");
  EXPECT_EQ(formOf(f32, {60, 60}, {60, 60}, 0, &reason), "direct");
  EXPECT_EQ(formOf(f32, {5000, 16}, {16, 500}, 0, &reason), "row_by_row");
  EXPECT_EQ(formOf(f32, {1000, 1000}, {1000, 16}, 0, &reason), "few_columns");
  EXPECT_EQ(formOf(f32, {1000, 1000}, {1000, 3}, 0, &reason), "dot_products, swapped");
  EXPECT_EQ(formOf(f32, {1000, 1000}, {3, 1000}, 1, &reason), "dot_products, swapped");
  EXPECT_EQ(formOf(f32, {1000, 100}, {100, 29}, 0, &reason), "few_columns");
  EXPECT_EQ(formOf(f32, {1000, 1000}, {1000, 1000}, 0, &reason), "blocked");
  EXPECT_EQ(
      reason,
      "row_times_matrix: several rows and columns; dot_products: terms lie apart; row_by_row: "
      "many terms; few_columns: many columns; direct: many rows, and no operand that stays near");
  EXPECT_EQ(formOf(ElementType::kBF16, {100}, {100, 300}, 0, &reason), "blocked");
  EXPECT_EQ(reason, "in place: not all of f32, or of f64");
}

TEST(DotDescriptorTest, RefusesWhatDoesNotFit) {
  Case c = matmul(2, 3, 4);
  c.rhsDims = {5, 3};
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
  c = matmul(2, 3, 4);
  c.lhsContracting = {2};
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
  c = matmul(2, 3, 4);
  c.lhsContracting = {};
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
  c = matmul(2, 3, 4);
  c.lhsType = ElementType::kToken;
  EXPECT_EQ(describe(c).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus::cpu
