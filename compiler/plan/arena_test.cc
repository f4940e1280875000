// Placement in the arena: disjointness, reuse and alignment.
#include "compiler/plan/arena.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace isthmus {
namespace {

TEST(ArenaTest, blocks_that_do_not_meet_share_memory) {
  std::vector<ArenaBlock> blocks = {{{0, 3}, 100, 0}, {{4, 7}, 128, 0}};
  EXPECT_EQ(placeBlocks(blocks), 128);
  EXPECT_EQ(blocks[0].offset, blocks[1].offset);
}

TEST(ArenaTest, a_gap_is_filled_by_the_block_that_fits) {
  // Two large blocks leave a gap of 64 bytes at time 5, which the small one takes.
  std::vector<ArenaBlock> blocks = {
      {{0, 9}, 512, 0}, {{0, 3}, 256, 0}, {{3, 9}, 128, 0}, {{5, 6}, 64, 0}};
  placeBlocks(blocks);
  EXPECT_LT(blocks[3].offset, 512 + 256 + 128);
}

TEST(ArenaTest, rooms_hold_what_fits_while_they_are_free) {
  std::vector<Room> rooms = {{512, {{6, 9}}}, {256, {{6, 9}}}};
  std::vector<ArenaBlock> blocks = {
      {{4, 5}, 200, 0}, {{2, 5}, 200, 0}, {{0, 3}, 200, 0}, {{5, 6}, 100, 0}, {{0, 3}, 600, 0}};
  EXPECT_EQ(placeBlocks(blocks, rooms), 640);
  EXPECT_EQ(blocks[2].room, 1);   // the smallest
  EXPECT_EQ(blocks[1].room, 0);   // that one is taken at time 2
  EXPECT_EQ(blocks[0].room, 1);   // and free again at 4
  EXPECT_EQ(blocks[3].room, -1);  // both are taken at time 6
  EXPECT_EQ(blocks[4].room, -1);  // too large
}

TEST(ArenaTest, rooms_lent_until_some_time_take_every_other_block) {
  std::vector<Room> rooms = {{64, {{8, 9}}}};
  std::vector<ArenaBlock> blocks = {{{0, 3}, 64}, {{2, 5}, 64}, {{4, 7}, 64}, {{6, 9}, 64}};
  EXPECT_EQ(placeBlocks(blocks, rooms), 64);
}

TEST(ArenaTest, nothing_needs_nothing) { EXPECT_EQ(placeBlocks({}), 0); }

TEST(ArenaTest, random_blocks_never_collide) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    std::vector<ArenaBlock> blocks;
    int64_t total = 0;
    for (int i = 0; i < 60; ++i) {
      int64_t begin = random() % 50;
      int64_t bytes = 1 + random() % 1000;
      blocks.push_back({{begin, begin + static_cast<int64_t>(random() % 20)}, bytes, 0});
      total += (bytes + 63) / 64 * 64;
    }
    int64_t size = placeBlocks(blocks);
    EXPECT_LT(size, total);
    for (size_t a = 0; a < blocks.size(); ++a) {
      EXPECT_EQ(blocks[a].offset % kArenaAlignment, 0);
      EXPECT_LE(blocks[a].offset + blocks[a].bytes, size);
      for (size_t b = 0; b < a; ++b) {
        const ArenaBlock& x = blocks[a];
        const ArenaBlock& y = blocks[b];
        bool together = x.lifetime.begin <= y.lifetime.end && y.lifetime.begin <= x.lifetime.end;
        bool overlap = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
        EXPECT_FALSE(together && overlap);
      }
    }
  }
}

}  // namespace
}  // namespace isthmus
