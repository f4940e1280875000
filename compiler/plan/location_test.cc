// Ordering of simultaneous moves, checked by carrying them out.
#include "compiler/plan/location.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace isthmus {
namespace {

Location place(int index) { return {Location::Space::kStack, index, 0, 8}; }

// Runs the moves on memory that holds its own index everywhere.
std::map<int, int> carryOut(const std::vector<Move>& moves, int places) {
  std::map<int, int> memory;
  for (int i = 0; i < places; ++i) memory[i] = i;
  for (const Move& move : moves) {
    if (move.isSwap) {
      std::swap(memory[move.to.index], memory[move.from.index]);
    } else {
      memory[move.to.index] = memory[move.from.index];
    }
  }
  return memory;
}

TEST(OrderMovesTest, drops_moves_to_the_same_place) {
  EXPECT_TRUE(orderMoves({{place(1), place(1)}}).empty());
}

TEST(OrderMovesTest, reads_before_it_overwrites) {
  std::map<int, int> memory = carryOut(orderMoves({{place(1), place(0)}, {place(2), place(1)}}), 3);
  EXPECT_EQ(memory[1], 0);
  EXPECT_EQ(memory[2], 1);
}

TEST(OrderMovesTest, a_cycle_of_two_is_one_swap) {
  std::vector<Move> moves = orderMoves({{place(0), place(1)}, {place(1), place(0)}});
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_TRUE(moves[0].isSwap);
}

TEST(OrderMovesTest, random_moves_have_the_effect_of_simultaneous_ones) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    constexpr int kPlaces = 7;
    std::vector<Move> moves;
    std::map<int, int> expected;
    for (int to = 0; to < kPlaces; ++to) {
      expected[to] = to;
      if (random() % 4 == 0) continue;
      int from = random() % kPlaces;
      expected[to] = from;
      moves.push_back({place(to), place(from)});
    }
    std::shuffle(moves.begin(), moves.end(), random);
    EXPECT_EQ(carryOut(orderMoves(moves), kPlaces), expected);
  }
}

TEST(OrderMovesTest, every_permutation_of_four) {
  std::vector<int> order = {0, 1, 2, 3};
  do {
    std::vector<Move> moves;
    std::map<int, int> expected;
    for (int i = 0; i < 4; ++i) {
      moves.push_back({place(i), place(order[i])});
      expected[i] = order[i];
    }
    EXPECT_EQ(carryOut(orderMoves(moves), 4), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(OrderMovesTest, moves_by_the_ten_thousand_take_no_time) {
  constexpr int kPlaces = 20000;
  std::vector<Move> moves;
  std::map<int, int> expected;
  for (int to = 0; to < kPlaces; ++to) {
    moves.push_back({place(to), place((to + 1) % kPlaces)});
    expected[to] = (to + 1) % kPlaces;
  }
  EXPECT_EQ(carryOut(orderMoves(moves), kPlaces), expected);
}

TEST(LocationTest, overlaps_by_bytes) {
  Location a{Location::Space::kArena, 0, 0, 64};
  Location b{Location::Space::kArena, 0, 63, 64};
  Location c{Location::Space::kArena, 0, 64, 64};
  EXPECT_TRUE(a.overlaps(b));
  EXPECT_FALSE(a.overlaps(c));
  EXPECT_FALSE(Location{}.overlaps(Location{}));
}

}  // namespace
}  // namespace isthmus
