// Expected blocks by hand: which rows of the flat array a device has.
#include "compiler/partition/rules/reshape_rule.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

using Axes = std::vector<AxisPart>;
using Shape = std::vector<int64_t>;

MeshSharding over(std::vector<Axes> dims) {
  MeshSharding sharding = replicatedSharding(static_cast<int64_t>(dims.size()), 8);
  sharding.dims = std::move(dims);
  return sharding;
}

// The elements of the flat array that a device has, in order.
std::vector<int64_t> elementsOf(const MeshSharding& sharding, const Shape& shape, int64_t device) {
  int64_t size = 1;
  for (int64_t rows : shape) size *= rows;
  std::vector<int64_t> elements;
  for (int64_t flat = 0; flat < size; ++flat) {
    bool isOurs = true;
    int64_t rest = flat;
    for (auto d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
      const int64_t block = shape[d] / sharding.shards(d);
      isOurs &= rest % shape[d] / block == sharding.shardIndex(d, device);
      rest /= shape[d];
    }
    if (isOurs) elements.push_back(flat);
  }
  return elements;
}

void expectKept(const MeshSharding& sharding, const Shape& from, const Shape& to) {
  std::optional<MeshSharding> result = reshapedSharding(sharding, from, to);
  ASSERT_TRUE(result);
  for (int64_t device = 0; device < 8; ++device) {
    EXPECT_EQ(elementsOf(*result, to, device), elementsOf(sharding, from, device)) << device;
  }
}

TEST(ReshapeRuleTest, DimensionsShareASplit) {
  expectKept(over({Axes{{1, 8}}}), {32}, {4, 8});
  expectKept(over({Axes{{1, 8}}}), {32}, {2, 2, 1, 8});
  expectKept(over({Axes{{2, 4}}, Axes{{1, 2}}}), {4, 8}, {32});
  expectKept(over({Axes{{1, 2}, {2, 4}}, {}}), {16, 3}, {4, 4, 3});
  expectKept(over({{}, Axes{{1, 8}}, {}}), {3, 16, 5}, {3, 1, 4, 4, 5, 1});
}

TEST(ReshapeRuleTest, BlocksThatFallApartAreNone) {
  // Rows of 4 x 8, of which each device has a part of every one.
  EXPECT_FALSE(reshapedSharding(over({{}, Axes{{1, 8}}}), {4, 8}, {32}));
  EXPECT_FALSE(reshapedSharding(over({Axes{{2, 4}}, Axes{{1, 2}}}), {8, 8}, {64}));
  EXPECT_FALSE(reshapedSharding(over({Axes{{1, 8}}}), {24}, {3, 8}));
  EXPECT_FALSE(reshapedSharding(over({Axes{{1, 8}}}), {20}, {20, 1}));
}

}  // namespace
}  // namespace isthmus
