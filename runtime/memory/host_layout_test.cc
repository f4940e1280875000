// Strided copies against a copy that follows the definition, element by element.
#include "runtime/memory/host_layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

namespace isthmus {
namespace {

// The definition: element (i, j, …) is at address 0 plus the sum of index times stride.
void naiveCopy(const ArrayType& type, const char* from, std::span<const int64_t> fromStrides,
               char* to, std::span<const int64_t> toStrides) {
  size_t bytes = elementSizeBytes(type.elementType);
  for (int64_t n = 0; n < type.numElements(); ++n) {
    int64_t rest = n, source = 0, target = 0;
    for (size_t i = type.dims.size(); i-- > 0;) {
      source += rest % type.dims[i] * fromStrides[i];
      target += rest % type.dims[i] * toStrides[i];
      rest /= type.dims[i];
    }
    std::memcpy(to + target, from + source, bytes);
  }
}

void expectSameCopy(const ArrayType& type, std::span<const int64_t> strides) {
  // Room around element 0 for strides of either sign.
  int64_t before = 0, after = 0;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    int64_t reach = strides[i] * std::max<int64_t>(type.dims[i] - 1, 0);
    (reach < 0 ? before : after) += std::abs(reach);
  }
  std::vector<char> host(before + after + 16);
  std::mt19937 random(1);
  for (char& c : host) c = static_cast<char>(random());
  std::vector<char> expected(type.sizeBytes() + 1, 'x'), got(type.sizeBytes() + 1, 'x');
  std::vector<int64_t> dense = denseStrides(type);
  naiveCopy(type, host.data() + before, strides, expected.data(), dense);
  copyStrided(type, host.data() + before, strides, got.data(), {});
  EXPECT_EQ(got, expected) << type.toString();
  // And back: what the strides do not reach stays.
  std::vector<char> expectedHost(host.size(), 'y'), gotHost(host.size(), 'y');
  naiveCopy(type, got.data(), dense, expectedHost.data() + before, strides);
  copyStrided(type, got.data(), {}, gotHost.data() + before, strides);
  bool isBroadcast = false;
  for (size_t i = 0; i < strides.size(); ++i) isBroadcast |= strides[i] == 0 && type.dims[i] > 1;
  if (!isBroadcast) EXPECT_EQ(gotHost, expectedHost) << type.toString();
}

TEST(CopyStrided, WhatNumPySends) {
  expectSameCopy({ElementType::kF32, {3, 4}}, std::vector<int64_t>{16, 4});
  expectSameCopy({ElementType::kF32, {3, 4}}, std::vector<int64_t>{4, 12});  // Fortran order
  expectSameCopy({ElementType::kF64, {7}}, std::vector<int64_t>{-8});        // reversed
  expectSameCopy({ElementType::kF64, {4, 5}}, std::vector<int64_t>{-40, -8});
  expectSameCopy({ElementType::kF64, {4, 5}}, std::vector<int64_t>{0, 0});  // broadcast
  expectSameCopy({ElementType::kF64, {4, 5}}, std::vector<int64_t>{0, 8});
  expectSameCopy({ElementType::kS32, {0, 5}}, std::vector<int64_t>{0, 0});  // no elements
  expectSameCopy({ElementType::kS4, {3, 5}}, std::vector<int64_t>{5, 1});
  expectSameCopy({ElementType::kC128, {3, 5}}, std::vector<int64_t>{16, 48});
  expectSameCopy({ElementType::kF32, {2, 3, 4}}, std::vector<int64_t>{400, 80, 8});  // a slice
  expectSameCopy({ElementType::kF32, {3}}, std::vector<int64_t>{7});  // not a multiple
  expectSameCopy({ElementType::kF16, {1, 1}}, std::vector<int64_t>{999, -5});
}

TEST(CopyStrided, ScalarsHaveNoStrides) {
  double from = 2.5, to = 0;
  copyStrided({ElementType::kF64, {}}, &from, {}, &to, {});
  EXPECT_EQ(to, 2.5);
}

TEST(CopyStrided, RandomPermutations) {
  std::mt19937 random(7);
  const ElementType types[] = {ElementType::kU8, ElementType::kS16, ElementType::kF32,
                               ElementType::kF64, ElementType::kC128};
  for (int round = 0; round < 300; ++round) {
    ArrayType type{types[random() % 5], {}};
    size_t rank = 1 + random() % 5;
    for (size_t i = 0; i < rank; ++i)
      type.dims.push_back(random() % 40 / (1 + i) + (i < 2 ? 1 : 0));
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    ASSERT_TRUE(type.setMinorToMajor(order));
    std::vector<int64_t> strides = denseStrides(type);
    type.minorToMajor.clear();
    for (int64_t& stride : strides) {
      if (random() % 4 == 0) stride = -stride;
    }
    expectSameCopy(type, strides);
  }
}

TEST(CopyStrided, LargeArraysOnSeveralThreads) {
  expectSameCopy({ElementType::kF32, {1500, 1700}}, std::vector<int64_t>{4, 6000});
  expectSameCopy({ElementType::kF32, {1500, 1700}}, std::vector<int64_t>{7000, 4});
  expectSameCopy({ElementType::kU8, {3000001}}, std::vector<int64_t>{1});
  expectSameCopy({ElementType::kS16, {33, 257, 65}}, std::vector<int64_t>{2, 66 * 65, 66});
}

TEST(HostLayout, DenseIgnoresWhatDoesNotMatter) {
  ArrayType type{ElementType::kF32, {3, 1, 4}};
  EXPECT_TRUE(isDense(type, std::vector<int64_t>{16, 12345, 4}));
  EXPECT_FALSE(isDense(type, std::vector<int64_t>{20, 16, 4}));
  EXPECT_FALSE(isDense(type, std::vector<int64_t>{16, 16, -4}));
  EXPECT_TRUE(isDense({ElementType::kF32, {0, 9}}, std::vector<int64_t>{0, 0}));
}

TEST(HostLayout, StridesFollowTheLayoutOfTheType) {
  ArrayType type{ElementType::kF32, {3, 4}};
  EXPECT_EQ(denseStrides(type), (std::vector<int64_t>{16, 4}));
  ASSERT_TRUE(type.setMinorToMajor({0, 1}));
  EXPECT_EQ(denseStrides(type), (std::vector<int64_t>{4, 12}));
  EXPECT_TRUE(isDense(type, std::vector<int64_t>{4, 12}));
  EXPECT_FALSE(isDense(type, std::vector<int64_t>{16, 4}));
}

TEST(HostLayout, EmptyStridesMeanTheLayoutOfTheType) {
  ArrayType type{ElementType::kS32, {2, 3}};
  ASSERT_TRUE(type.setMinorToMajor({0, 1}));
  const int32_t columns[] = {1, 4, 2, 5, 3, 6};
  int32_t rows[6] = {};
  copyStrided(type, columns, {}, rows, std::vector<int64_t>{12, 4});
  EXPECT_EQ(std::vector<int32_t>(rows, rows + 6), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace isthmus
