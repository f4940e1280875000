// Plans carried out on arrays: each device ends with its block, and little moves.
#include "compiler/partition/reshard/reshard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace isthmus {
namespace {

using Kind = ReshardStep::Kind;
using Shape = std::vector<int64_t>;

// A dense row-major array, as one device has it.
struct Block {
  Shape shape;
  std::vector<int64_t> values;

  explicit Block(Shape extents) : shape(std::move(extents)) {
    values.resize(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
  }

  // The part of it that begins at `starts`.
  Block part(const Shape& starts, const Shape& extents) const {
    Block part(extents);
    part.visit([&](const Shape& index, int64_t& value) { value = at(sum(index, starts)); });
    return part;
  }
  void put(const Shape& starts, const Block& part) {
    Block copy = part;
    copy.visit([&](const Shape& index, int64_t& value) { at(sum(index, starts)) = value; });
  }

  template <typename Visitor>
  void visit(Visitor visitor) {
    Shape index(shape.size());
    for (int64_t& value : values) {
      visitor(index, value);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d]) break;
        index[d] = 0;
      }
    }
  }

  const int64_t& at(const Shape& index) const {
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
    return values[flat];
  }
  int64_t& at(const Shape& index) { return const_cast<int64_t&>(std::as_const(*this).at(index)); }

  static Shape sum(Shape a, const Shape& b) {
    for (size_t d = 0; d < a.size(); ++d) a[d] += b[d];
    return a;
  }
};

using Devices = std::vector<Block>;

Shape startsOf(const MeshSharding& sharding, int64_t p, const Shape& local) {
  Shape starts;
  for (size_t d = 0; d < local.size(); ++d) {
    starts.push_back(sharding.shardIndex(static_cast<int64_t>(d), p) * local[d]);
  }
  return starts;
}

// What the devices have of `whole`; partial sums of it if the sharding asks for sums.
Devices split(const Block& whole, const MeshSharding& sharding) {
  Shape local = *sharding.localShape(whole.shape);
  Devices devices;
  for (int64_t p = 0; p < sharding.numPartitions; ++p) {
    devices.push_back(whole.part(startsOf(sharding, p, local), local));
  }
  for (const std::vector<int64_t>& group : sharding.groups(sharding.unreduced)) {
    for (size_t i = 1; i < group.size(); ++i) {
      for (size_t v = 0; v < devices[group[i]].values.size(); ++v) {
        int64_t moved = static_cast<int64_t>(v) * 7 + group[i];
        devices[group[i]].values[v] = moved;
        devices[group[0]].values[v] -= moved;
      }
    }
  }
  return devices;
}

Block sumOf(const Devices& devices, const std::vector<int64_t>& group) {
  Block sum(devices[group[0]].shape);
  for (int64_t p : group) {
    for (size_t v = 0; v < sum.values.size(); ++v) sum.values[v] += devices[p].values[v];
  }
  return sum;
}

Block keptPart(const Block& block, int64_t d, size_t index, size_t count) {
  Shape extents = block.shape, starts(block.shape.size());
  extents[d] /= static_cast<int64_t>(count);
  starts[d] = static_cast<int64_t>(index) * extents[d];
  return block.part(starts, extents);
}

Block concatenated(const std::vector<Block>& blocks, int64_t d) {
  Shape shape = blocks[0].shape;
  shape[d] *= static_cast<int64_t>(blocks.size());
  Block result(shape);
  for (size_t i = 0; i < blocks.size(); ++i) {
    Shape starts(shape.size());
    starts[d] = static_cast<int64_t>(i) * blocks[i].shape[d];
    result.put(starts, blocks[i]);
  }
  return result;
}

Devices carryOut(const ReshardStep& step, const Devices& devices) {
  Devices after = devices;
  if (step.kind == Kind::kPermute) {
    for (const std::vector<int64_t>& pair : step.pairs) after[pair[1]] = devices[pair[0]];
    return after;
  }
  for (const std::vector<int64_t>& group : step.before.groups(step.axes)) {
    for (size_t i = 0; i < group.size(); ++i) {
      Block& mine = after[group[i]];
      std::vector<Block> others;
      for (int64_t p : group) {
        others.push_back(step.kind == Kind::kAllToAll
                             ? keptPart(devices[p], step.to, i, group.size())
                             : devices[p]);
      }
      switch (step.kind) {
        case Kind::kSlice:
          mine = keptPart(devices[group[i]], step.to, i, group.size());
          break;
        case Kind::kGather:
        case Kind::kAllToAll:
          mine = concatenated(others, step.from);
          break;
        case Kind::kReduceScatter:
          mine = keptPart(sumOf(devices, group), step.to, i, group.size());
          break;
        case Kind::kAllReduce:
          mine = sumOf(devices, group);
          break;
        case Kind::kPermute:
          break;
      }
    }
  }
  return after;
}

Block counting(const Shape& shape) {
  Block whole(shape);
  std::iota(whole.values.begin(), whole.values.end(), 0);
  return whole;
}

// Carries the plan out and returns the kinds of its steps.
std::vector<Kind> check(const MeshSharding& from, const MeshSharding& to, const Shape& shape) {
  Block whole = counting(shape);
  Devices devices = split(whole, from);
  std::vector<Kind> kinds;
  for (const ReshardStep& step : planReshard(from, to, shape, 4, 512)) {
    kinds.push_back(step.kind);
    devices = carryOut(step, devices);
  }
  if (to.unreduced.empty()) {
    Devices expected = split(whole, to);
    for (int64_t p = 0; p < to.numPartitions; ++p) {
      EXPECT_EQ(devices[p].shape, expected[p].shape) << p;
      EXPECT_EQ(devices[p].values, expected[p].values) << p;
    }
  }
  return kinds;
}

// Of 8 devices; an axis is (stride, size): x = {2, 4} and y = {1, 2} of a mesh of 4 x 2.
MeshSharding sharding(std::vector<std::vector<AxisPart>> dims, std::vector<AxisPart> sum = {}) {
  MeshSharding sharding = replicatedSharding(static_cast<int64_t>(dims.size()), 8);
  sharding.dims = std::move(dims);
  sharding.unreduced = std::move(sum);
  return sharding;
}
const AxisPart kX{2, 4}, kY{1, 2}, kAll{1, 8};

TEST(ReshardTest, rows_to_columns_is_one_exchange) {
  EXPECT_THAT(check(sharding({{kAll}, {}}), sharding({{}, {kAll}}), {16, 8}),
              testing::ElementsAre(Kind::kAllToAll));
}

TEST(ReshardTest, more_axes_are_free) {
  EXPECT_THAT(check(sharding({{kX}, {}}), sharding({{kAll}, {}}), {16, 8}),
              testing::ElementsAre(Kind::kSlice));
}

TEST(ReshardTest, fewer_axes_are_a_partial_gather) {
  EXPECT_THAT(check(sharding({{kAll}, {}}), sharding({{kX}, {}}), {16, 8}),
              testing::ElementsAre(Kind::kGather));
}

TEST(ReshardTest, another_order_of_axes_is_a_permutation) {
  EXPECT_THAT(check(sharding({{kX, kY}}), sharding({{kY, kX}}), {16}),
              testing::ElementsAre(Kind::kPermute));
}

TEST(ReshardTest, another_axis_of_the_same_size_is_a_permutation) {
  MeshSharding from = sharding({{{4, 2}}, {}}), to = sharding({{{1, 2}}, {}});
  EXPECT_THAT(check(from, to, {16, 8}), testing::ElementsAre(Kind::kPermute));
}

TEST(ReshardTest, exchanged_axes_gather_nothing) {
  std::vector<Kind> kinds = check(sharding({{kX}, {kY}}), sharding({{kY}, {kX}}), {16, 8});
  EXPECT_THAT(kinds, testing::Not(testing::Contains(Kind::kGather)));
}

TEST(ReshardTest, a_sum_that_is_split_is_a_reduce_scatter) {
  EXPECT_THAT(check(sharding({{}, {}}, {kAll}), sharding({{kAll}, {}}), {16, 8}),
              testing::ElementsAre(Kind::kReduceScatter));
  EXPECT_THAT(check(sharding({{}, {}}, {kAll}), sharding({{}, {}}), {16, 8}),
              testing::ElementsAre(Kind::kAllReduce));
}

TEST(ReshardTest, what_does_not_divide_is_not_passed_through) {
  // The second dimension takes two parts but not four.
  check(sharding({{kX}, {kY}}), sharding({{kY}, {{4, 2}}}), {16, 6});
}

TEST(ReshardTest, meshes_of_other_orders) {
  MeshSharding to = sharding({{kX}, {kY}});
  to.positionOf = {3, 1, 4, 0, 5, 7, 2, 6};
  EXPECT_THAT(check(sharding({{kX}, {kY}}), to, {16, 8}), testing::ElementsAre(Kind::kPermute));
  check(sharding({{kAll}, {}}), to, {16, 8});
}

// A sharding of random axes of the mesh in random places.
MeshSharding randomSharding(std::mt19937& random, const std::vector<int64_t>& mesh, size_t rank,
                            bool hasSum) {
  int64_t devices = std::accumulate(mesh.begin(), mesh.end(), int64_t{1}, std::multiplies<>());
  MeshSharding sharding = replicatedSharding(static_cast<int64_t>(rank), devices);
  std::vector<AxisPart> axes;
  int64_t stride = 1;
  for (int64_t size : mesh) {
    axes.push_back({stride, size});
    stride *= size;
  }
  std::shuffle(axes.begin(), axes.end(), random);
  for (const AxisPart& axis : axes) {
    size_t d = random() % (rank + 1);
    if (d < rank) {
      appendAxisPart(sharding.dims[d], axis);
    } else if (hasSum && random() % 2 == 0) {
      appendAxisPart(sharding.unreduced, axis);
    }
  }
  return sharding;
}

TEST(ReshardTest, random_shardings) {
  std::mt19937 random(1);
  for (const std::vector<int64_t>& mesh :
       {std::vector<int64_t>{2, 2, 2}, {2, 4}, {3, 2}, {2, 3, 2}, {4, 4}}) {
    for (int round = 0; round < 200; ++round) {
      size_t rank = 1 + random() % 3;
      MeshSharding from = randomSharding(random, mesh, rank, true);
      MeshSharding to = randomSharding(random, mesh, rank, false);
      check(from, to, Shape(rank, from.numPartitions));
      if (HasFailure()) return;
    }
  }
}

TEST(ReshardTest, moves_no_more_than_gathering) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    MeshSharding from = randomSharding(random, {2, 2, 2}, 2, false);
    MeshSharding to = randomSharding(random, {2, 2, 2}, 2, false);
    double moved = 0;
    for (const ReshardStep& step : planReshard(from, to, {64, 64}, 4, 512)) {
      moved += bytesMoved(step, 64 * 64 * 4);
    }
    double held = 64 * 64 * 4;
    for (size_t d = 0; d < 2; ++d)
      held /= static_cast<double>(from.shards(static_cast<int64_t>(d)));
    EXPECT_LE(moved, 64 * 64 * 4 - held);
  }
}

}  // namespace
}  // namespace isthmus
