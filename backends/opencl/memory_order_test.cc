// Dependencies between commands, against a list of all pairs that conflict.
#include "backends/opencl/memory_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace isthmus::opencl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

char memory[256];

MemoryRange range(int begin, int end) { return {memory + begin, end - begin}; }

struct Use {
  std::vector<MemoryRange> reads;
  std::vector<MemoryRange> writes;
};

std::vector<int64_t> add(MemoryOrder& order, int64_t command, const Use& use) {
  return order.add(command, use.reads, use.writes);
}

MemoryOrder makeOrder() {
  return MemoryOrder([](int64_t) { return false; });
}

TEST(MemoryOrder, readers_wait_for_the_writer_only) {
  MemoryOrder order = makeOrder();
  EXPECT_THAT(add(order, 0, {{}, {range(0, 8)}}), IsEmpty());
  EXPECT_THAT(add(order, 1, {{range(0, 4)}, {range(16, 20)}}), ElementsAre(0));
  EXPECT_THAT(add(order, 2, {{range(0, 8)}, {range(24, 32)}}), ElementsAre(0));
  EXPECT_THAT(add(order, 3, {{range(16, 20), range(24, 32)}, {range(40, 41)}}),
              UnorderedElementsAre(1, 2));
  EXPECT_THAT(add(order, 4, {{}, {range(8, 16)}}), IsEmpty());
}

TEST(MemoryOrder, writers_wait_for_readers_and_writers) {
  MemoryOrder order = makeOrder();
  add(order, 0, {{}, {range(0, 8)}});
  add(order, 1, {{range(4, 8)}, {range(16, 20)}});
  // Of [0, 4) the writer, of [4, 8) its reader.
  EXPECT_THAT(add(order, 2, {{}, {range(0, 8)}}), UnorderedElementsAre(0, 1));
  EXPECT_THAT(add(order, 3, {{range(0, 8)}, {}}), ElementsAre(2));
}

TEST(MemoryOrder, commands_do_not_wait_for_themselves) {
  MemoryOrder order = makeOrder();
  EXPECT_THAT(add(order, 0, {{range(0, 8)}, {range(0, 8), range(4, 12)}}), IsEmpty());
}

TEST(MemoryOrder, what_is_over_is_not_waited_for) {
  std::set<int64_t> over;
  MemoryOrder order([&](int64_t command) { return over.count(command) != 0; });
  add(order, 0, {{}, {range(0, 8)}});
  over.insert(0);
  EXPECT_THAT(add(order, 1, {{range(0, 8)}, {}}), IsEmpty());
  for (int64_t i = 2; i < 100; ++i) {
    over.insert(i - 1);
    EXPECT_THAT(add(order, i, {{range(0, 8)}, {}}), IsEmpty());
  }
  EXPECT_THAT(add(order, 100, {{}, {range(0, 8)}}), ElementsAre(99));
}

// Any two commands that conflict are in order, directly or through others; no two others are.
TEST(MemoryOrder, orders_just_what_conflicts) {
  std::mt19937 random(1);
  auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int round = 0; round < 50; ++round) {
    MemoryOrder order = makeOrder();
    std::vector<Use> uses;
    std::vector<std::set<int64_t>> before;  // all, through others too
    for (int64_t command = 0; command < 60; ++command) {
      Use use;
      auto some = [&](std::vector<MemoryRange>& ranges, int most) {
        for (int i = pick(most + 1); i > 0; --i) {
          int begin = pick(60);
          ranges.push_back(range(begin, begin + pick(9)));
        }
      };
      some(use.reads, 3);
      some(use.writes, 2);
      auto meet = [](const std::vector<MemoryRange>& a, const std::vector<MemoryRange>& b) {
        for (const MemoryRange& x : a) {
          for (const MemoryRange& y : b) {
            const char* p = static_cast<const char*>(x.data);
            const char* q = static_cast<const char*>(y.data);
            if (x.bytes > 0 && y.bytes > 0 && p < q + y.bytes && q < p + x.bytes) return true;
          }
        }
        return false;
      };
      auto conflicts = [&](const Use& a, const Use& b) {
        return meet(a.reads, b.writes) || meet(a.writes, b.reads) || meet(a.writes, b.writes);
      };
      std::set<int64_t> all;
      for (int64_t earlier : add(order, command, use)) {
        EXPECT_TRUE(conflicts(uses[static_cast<size_t>(earlier)], use));
        all.insert(earlier);
        const std::set<int64_t>& its = before[static_cast<size_t>(earlier)];
        all.insert(its.begin(), its.end());
      }
      for (int64_t earlier = 0; earlier < command; ++earlier) {
        if (conflicts(uses[static_cast<size_t>(earlier)], use)) {
          EXPECT_TRUE(all.count(earlier)) << command << " does not wait for " << earlier;
        }
      }
      uses.push_back(use);
      before.push_back(std::move(all));
    }
  }
}

}  // namespace
}  // namespace isthmus::opencl
