#include "compiler/driver/swap_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isthmus {
namespace {

using Space = Location::Space;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Location arena(int64_t offset, int64_t bytes = 64) { return {Space::kArena, 0, offset, bytes}; }
const Location kResult{Space::kResult, 0, 0, 64};
const Location kFlag{Space::kStack, 0, 0, 1};

Step launch(std::vector<Location> buffers) { return {KernelLaunch{0, 1, std::move(buffers)}}; }
Step last(Location to, Location from) { return {Move{.to = to, .from = from, .isLast = true}}; }

Loop swapped(std::vector<Step> body, std::vector<Step> condition = {}) {
  Loop loop;
  loop.predicate = kFlag;
  loop.condition = std::move(condition);
  loop.body = std::move(body);
  std::vector<Step> steps{{std::move(loop)}};
  swapAddresses(steps);
  return std::get<Loop>(steps[0].what);
}

TEST(SwapAddresses, of_what_a_round_computed) {
  Loop loop =
      swapped({launch({kResult, arena(0)}), last(kResult, arena(0))}, {launch({kResult, kFlag})});
  EXPECT_THAT(loop.body, SizeIs(1));
  ASSERT_THAT(loop.addressSwaps, SizeIs(1));
  EXPECT_EQ(loop.addressSwaps[0].to, kResult);
  EXPECT_EQ(loop.addressSwaps[0].from, arena(0));
}

TEST(SwapAddresses, of_swaps_within_branches_and_loops) {
  Loop inner;
  inner.predicate = kFlag;
  inner.body = {launch({kResult, arena(0)}),
                {Move{.to = kResult, .from = arena(0), .isSwap = true}}};
  Branch branch;
  branch.index = kFlag;
  branch.branches = {{{inner}}};
  Loop outer = swapped({{branch}, last(arena(128), arena(192))});
  EXPECT_THAT(outer.addressSwaps, SizeIs(1));
  const auto& within = std::get<Branch>(outer.body[0].what).branches[0];
  EXPECT_THAT(std::get<Loop>(within[0].what).addressSwaps, SizeIs(1));
}

TEST(SwapAddresses, not_of_what_is_read_again) {
  Loop loop = swapped({launch({kResult, arena(0)}), {Move{.to = kResult, .from = arena(0)}}});
  EXPECT_THAT(loop.addressSwaps, IsEmpty());
  EXPECT_THAT(loop.body, SizeIs(2));
}

TEST(SwapAddresses, not_of_places_of_several_moves) {
  Loop twice = swapped({launch({arena(0)}), last(kResult, arena(0)), last(arena(64), arena(0))});
  EXPECT_THAT(twice.addressSwaps, IsEmpty());
  Loop chain = swapped({launch({arena(0)}), last(kResult, arena(64)), last(arena(64), arena(0))});
  EXPECT_THAT(chain.addressSwaps, IsEmpty());
  EXPECT_THAT(chain.body, SizeIs(3));
}

TEST(SwapAddresses, not_where_parts_are_accessed_with_others) {
  for (const Location& other : {arena(32), arena(32, 8), arena(0, 128)}) {
    SCOPED_TRACE(other.toString());
    Loop loop = swapped({launch({kResult, arena(0)}), launch({other}), last(kResult, arena(0))});
    EXPECT_THAT(loop.addressSwaps, IsEmpty());
  }
  // A smaller array at the same place is whole.
  Loop loop =
      swapped({launch({arena(0, 8)}), launch({kResult, arena(0)}), last(kResult, arena(0))});
  EXPECT_THAT(loop.addressSwaps, SizeIs(1));
}

}  // namespace
}  // namespace isthmus
