// Threads of a group take turns between barriers.
#include "backends/simulated/fibers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace isthmus::simulated {
namespace {

using ::testing::ElementsAre;

TEST(Fibers, all_come_to_a_barrier_before_any_goes_on) {
  std::string order;
  runGroup(3, [&](unsigned thread) {
    order += std::to_string(thread);
    groupBarrier();
    order += static_cast<char>('a' + thread);
    groupBarrier();
    order += static_cast<char>('x' + thread);
  });
  EXPECT_EQ(order, "012abcxyz");
}

TEST(Fibers, who_has_returned_holds_nobody_up) {
  std::vector<unsigned> order;
  runGroup(4, [&](unsigned thread) {
    if (thread % 2) groupBarrier();
    order.push_back(thread);
  });
  EXPECT_THAT(order, ElementsAre(0, 2, 1, 3));
}

TEST(Fibers, stacks_are_their_own_and_used_again) {
  for (int round = 0; round < 3; ++round) {
    unsigned sum = 0;
    runGroup(256, [&](unsigned thread) {
      volatile unsigned own[1000];
      for (unsigned i = 0; i < 1000; ++i) own[i] = thread;
      groupBarrier();
      for (unsigned i = 0; i < 1000; ++i) sum += own[i];
    });
    EXPECT_EQ(sum, 1000 * 255 * 256 / 2);
  }
}

}  // namespace
}  // namespace isthmus::simulated
