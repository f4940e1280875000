// Plans carried out on rows: each device ends with what it asked for, and no round is overbooked.
#include "compiler/partition/split/moved_rows.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace isthmus {
namespace {

constexpr int64_t kNone = -1;

// The row of which source, as one number; kNone where no source has one.
int64_t rowAt(llvm::ArrayRef<RowSource> sources, int64_t row) {
  for (auto [k, source] : llvm::enumerate(sources)) {
    int64_t own = row - source.offset;
    if (own >= 0 && own < source.rows) return static_cast<int64_t>(k) * 1000 + own;
  }
  return kNone;
}

void expectAsAsked(llvm::ArrayRef<RowSource> sources, const RowRequest& request) {
  const auto shards = static_cast<int64_t>(request.starts.size());
  std::vector<std::vector<int64_t>> got(shards, std::vector<int64_t>(request.count, kNone));
  for (const std::vector<RowMove>& round : planRows(sources, request)) {
    ASSERT_FALSE(round.empty());
    std::set<int64_t> senders, receivers;
    for (const RowMove& move : round) {
      EXPECT_EQ(move.source, round.front().source);
      EXPECT_EQ(move.from == move.to, round.front().from == round.front().to);
      EXPECT_TRUE(senders.insert(move.from).second);
      EXPECT_TRUE(receivers.insert(move.to).second);
      const RowSource& source = sources[move.source];
      const int64_t rows = source.isWhole ? source.rows : blockRows(source.rows, shards);
      const int64_t first = (source.isWhole ? 0 : move.from * rows) + move.start;
      EXPECT_TRUE(!source.isWhole || move.from == move.to);
      ASSERT_LE(move.start + move.count, rows);
      for (int64_t i = 0; i < move.count; ++i) {
        int64_t& place = got[move.to].at(move.place + i);
        EXPECT_EQ(place, kNone);
        // Padding is as good as nothing.
        if (first + i >= source.rows) continue;
        place = static_cast<int64_t>(move.source) * 1000 + first + i;
      }
    }
  }
  for (int64_t b = 0; b < shards; ++b) {
    for (int64_t i = 0; i < request.count; ++i) {
      EXPECT_EQ(got[b][i], rowAt(sources, request.starts[b] + i)) << "block " << b << " row " << i;
    }
  }
}

TEST(MovedRows, NeighboursOfEachBlock) {
  RowRequest request{{-1, 3, 7, 11}, 6};
  RowSource source{16, 0};
  expectAsAsked(source, request);
  // One row to either side.
  EXPECT_EQ(rowsSent(planRows(source, request)), 2);
}

TEST(MovedRows, HalfOfAnArray) {
  // Rows 0 to 15 of 32, two for each of eight devices: each but the first gets two of another's.
  RowRequest request{{0, 2, 4, 6, 8, 10, 12, 14}, 2};
  RowSource source{32, 0};
  expectAsAsked(source, request);
  EXPECT_EQ(rowsSent(planRows(source, request)), 4);
}

TEST(MovedRows, TwoArraysOneAfterTheOther) {
  RowRequest request{{0, 4, 8, 12}, 4};
  std::vector<RowSource> sources = {{8, 0}, {8, 8}};
  expectAsAsked(sources, request);
  EXPECT_LE(rowsSent(planRows(sources, request)), 8);
}

TEST(MovedRows, RandomRequests) {
  std::mt19937 random(1);
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int trial = 0; trial < 500; ++trial) {
    const int64_t shards = draw(2, 8);
    std::vector<RowSource> sources;
    int64_t end = draw(-5, 5);
    for (int64_t k = draw(1, 3); k > 0; --k) {
      const int64_t rows = draw(0, 1) == 0 ? shards * draw(1, 5) : draw(1, 40);
      sources.push_back({rows, end, draw(0, 3) == 0});
      end += sources.back().rows + draw(0, 2);
    }
    RowRequest request;
    request.count = draw(1, 12);
    const int64_t first = draw(-9, 9), step = draw(0, 9);
    for (int64_t b = 0; b < shards; ++b) request.starts.push_back(first + b * step);
    expectAsAsked(sources, request);
  }
}

}  // namespace
}  // namespace isthmus
