// Reductions by type and kind, against values worked out by hand.
#include "runtime/collectives/reduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "Eigen/Core"

namespace isthmus {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> reduce(ReductionKind kind, ElementType type, std::vector<std::vector<T>> inputs) {
  EXPECT_TRUE(checkReduction(kind, type).ok());
  std::vector<const void*> pointers;
  for (auto& input : inputs) pointers.push_back(input.data());
  std::vector<T> out(inputs[0].size());
  reduceElements(kind, type, pointers, out.data(), static_cast<int64_t>(out.size()));
  return out;
}

TEST(Reduce, Floats) {
  EXPECT_THAT(reduce<float>(ReductionKind::kSum, ElementType::kF32, {{1, 2}, {10, 20}, {100, 200}}),
              ElementsAre(111, 222));
  EXPECT_THAT(reduce<double>(ReductionKind::kProduct, ElementType::kF64, {{1, 2}, {3, 4}}),
              ElementsAre(3, 8));
  EXPECT_THAT(reduce<float>(ReductionKind::kMin, ElementType::kF32, {{1, 5}, {2, 4}}),
              ElementsAre(1, 4));
  EXPECT_THAT(reduce<float>(ReductionKind::kMax, ElementType::kF32, {{1, 5}, {2, 4}}),
              ElementsAre(2, 5));
}

template <typename T>
void expectOrder(ElementType type) {
  T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (ReductionKind kind : {ReductionKind::kMin, ReductionKind::kMax}) {
    bool isMin = kind == ReductionKind::kMin;
    auto out = reduce<T>(kind, type, {{nan, 1, nan}, {1, nan, nan}});
    for (T value : out) EXPECT_TRUE(std::isnan(value));
    auto zeros = reduce<T>(kind, type, {{T(0), T(-0.0)}, {T(-0.0), T(0)}});
    EXPECT_EQ(std::signbit(zeros[0]), isMin);
    EXPECT_EQ(std::signbit(zeros[1]), isMin);
    EXPECT_THAT(reduce<T>(kind, type, {{-2, -1, infinity}, {-1, -2, -infinity}}),
                testing::ElementsAreArray(isMin ? std::vector<T>{-2, -2, -infinity}
                                                : std::vector<T>{-1, -1, infinity}));
  }
}

TEST(Reduce, NanAndSignedZero) {
  expectOrder<float>(ElementType::kF32);
  expectOrder<double>(ElementType::kF64);
}

TEST(Reduce, IntegersWrapAround) {
  EXPECT_THAT(reduce<int8_t>(ReductionKind::kSum, ElementType::kS8, {{100, -100}, {100, -100}}),
              ElementsAre(-56, 56));
  EXPECT_THAT(reduce<int32_t>(ReductionKind::kSum, ElementType::kS32, {{INT32_MAX}, {1}}),
              ElementsAre(INT32_MIN));
  EXPECT_THAT(reduce<uint16_t>(ReductionKind::kProduct, ElementType::kU16, {{65535}, {65535}}),
              ElementsAre(1));
  EXPECT_THAT(reduce<int64_t>(ReductionKind::kMin, ElementType::kS64, {{-1, 5}, {0, 3}}),
              ElementsAre(-1, 3));
  EXPECT_THAT(reduce<uint64_t>(ReductionKind::kMax, ElementType::kU64, {{UINT64_MAX}, {0}}),
              ElementsAre(UINT64_MAX));
  EXPECT_THAT(reduce<uint32_t>(ReductionKind::kAnd, ElementType::kU32, {{12}, {10}}),
              ElementsAre(8));
  EXPECT_THAT(reduce<int16_t>(ReductionKind::kOr, ElementType::kS16, {{12}, {-16}}),
              ElementsAre(-4));
}

TEST(Reduce, NarrowIntegersStayNarrow) {
  EXPECT_THAT(reduce<int8_t>(ReductionKind::kSum, ElementType::kS4, {{7, -8}, {1, -1}}),
              ElementsAre(-8, 7));
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kSum, ElementType::kU4, {{15}, {2}}), ElementsAre(1));
  EXPECT_THAT(reduce<int8_t>(ReductionKind::kSum, ElementType::kS2, {{1}, {1}}), ElementsAre(-2));
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kMax, ElementType::kU2, {{1}, {3}}), ElementsAre(3));
}

TEST(Reduce, Booleans) {
  std::vector<std::vector<uint8_t>> inputs = {{0, 0, 1, 1}, {0, 1, 0, 1}};
  for (auto kind : {ReductionKind::kSum, ReductionKind::kMax, ReductionKind::kOr}) {
    EXPECT_THAT(reduce<uint8_t>(kind, ElementType::kPred, inputs), ElementsAre(0, 1, 1, 1));
  }
  for (auto kind : {ReductionKind::kProduct, ReductionKind::kMin, ReductionKind::kAnd}) {
    EXPECT_THAT(reduce<uint8_t>(kind, ElementType::kPred, inputs), ElementsAre(0, 0, 0, 1));
  }
}

TEST(Reduce, ComplexNumbers) {
  using C = std::complex<float>;
  EXPECT_THAT(reduce<C>(ReductionKind::kSum, ElementType::kC64, {{C(1, 2)}, {C(3, -1)}}),
              ElementsAre(C(4, 1)));
  EXPECT_THAT(reduce<std::complex<double>>(ReductionKind::kProduct, ElementType::kC128,
                                           {{{1, 2}}, {{3, -1}}}),
              ElementsAre(std::complex<double>(5, 5)));
}

TEST(Reduce, HalvesAreRoundedOnce) {
  using Eigen::bfloat16;
  // In steps of bfloat16, 256 + 1 + 1 stays 256; rounded once it is 258.
  auto out = reduce<bfloat16>(ReductionKind::kSum, ElementType::kBF16,
                              {{bfloat16(256.f)}, {bfloat16(1.f)}, {bfloat16(1.f)}});
  EXPECT_EQ(static_cast<float>(out[0]), 258.0f);
  using Eigen::half;
  auto small =
      reduce<half>(ReductionKind::kProduct, ElementType::kF16, {{half(0.5f)}, {half(3.0f)}});
  EXPECT_EQ(static_cast<float>(small[0]), 1.5f);
}

TEST(Reduce, SmallFloats) {
  // 1.5 + 2 = 3.5 in f8E4M3FN: 0x3c + 0x40 = 0x46.
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kSum, ElementType::kF8E4M3FN, {{0x3c}, {0x40}}),
              ElementsAre(0x46));
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kMax, ElementType::kF8E5M2, {{0x3c}, {0xbc}}),
              ElementsAre(0x3c));
  // 1 + 2 is a tie between powers of two, which goes up; 2^-127 squared is zero in f32, which they
  // do not have.
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kSum, ElementType::kF8E8M0FNU, {{127}, {128}}),
              ElementsAre(129));
  EXPECT_THAT(reduce<uint8_t>(ReductionKind::kProduct, ElementType::kF8E8M0FNU, {{0}, {0}}),
              ElementsAre(0xff));
}

TEST(Reduce, ManyElementsAndInPlace) {
  std::vector<float> a(5000), b(5000), expected(5000);
  for (int i = 0; i < 5000; ++i) a[i] = i, b[i] = 3 * i, expected[i] = 4 * i;
  const void* inputs[] = {a.data(), b.data()};
  reduceElements(ReductionKind::kSum, ElementType::kF32, inputs, b.data(), 5000);
  EXPECT_EQ(b, expected);
}

// However many there are, from left to right: the sums of these depend on the order.
TEST(Reduce, AnyNumberOfInputsInTheirOrder) {
  constexpr size_t kElements = 1500;
  std::vector<std::vector<float>> inputs;
  std::vector<float> sums(kElements);
  for (size_t count = 1; count <= 13; ++count) {
    std::vector<float>& next = inputs.emplace_back(kElements);
    for (size_t i = 0; i < kElements; ++i) {
      const auto number = static_cast<float>((i * 7919 + count * 104729) % 1000);
      next[i] = number * (count % 3 == 0 ? 1e7F : 0.37F);
      sums[i] = count == 1 ? next[i] : sums[i] + next[i];
    }
    EXPECT_EQ(reduce<float>(ReductionKind::kSum, ElementType::kF32, inputs), sums) << count;
  }
}

TEST(Reduce, WhatMakesNoSenseIsRefused) {
  EXPECT_FALSE(checkReduction(ReductionKind::kAnd, ElementType::kF32).ok());
  EXPECT_FALSE(checkReduction(ReductionKind::kOr, ElementType::kF8E4M3FN).ok());
  EXPECT_FALSE(checkReduction(ReductionKind::kMin, ElementType::kC64).ok());
  EXPECT_FALSE(checkReduction(ReductionKind::kSum, ElementType::kToken).ok());
}

}  // namespace
}  // namespace isthmus
