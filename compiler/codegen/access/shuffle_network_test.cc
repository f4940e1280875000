#include "compiler/codegen/access/shuffle_network.h"

#include <algorithm>

#include "gtest/gtest.h"

namespace isthmus::codegen {
namespace {

using Wanted = llvm::SmallVector<llvm::SmallVector<int64_t, 16>, 16>;

// What each result holds when the network's shuffles are done with elements that hold their
// numbers.
std::vector<std::vector<int64_t>> apply(const ShuffleNetwork& network, size_t sources,
                                        size_t lanes) {
  std::vector<std::vector<int64_t>> vectors(sources, std::vector<int64_t>(lanes));
  for (size_t e = 0; e < sources * lanes; ++e)
    vectors[e / lanes][e % lanes] = static_cast<int64_t>(e);
  for (const Shuffle& step : network.shuffles) {
    EXPECT_LT(std::max(step.first, step.second), vectors.size());
    EXPECT_EQ(step.mask.size(), lanes);
    std::vector<int64_t> made;
    for (int lane : step.mask) {
      auto at = static_cast<size_t>(lane);
      made.push_back(lane < 0     ? -1
                     : at < lanes ? vectors[step.first][at]
                                  : vectors[step.second][at - lanes]);
    }
    vectors.push_back(made);
  }
  std::vector<std::vector<int64_t>> results;
  for (size_t vector : network.results) results.push_back(vectors[vector]);
  return results;
}

void expectNetwork(const Wanted& wanted, size_t sources, size_t lanes, size_t atMost) {
  const ShuffleNetwork network = mergeLanes(sources, lanes, wanted);
  const auto results = apply(network, sources, lanes);
  ASSERT_EQ(results.size(), wanted.size());
  for (size_t r = 0; r < wanted.size(); ++r) {
    EXPECT_EQ(results[r], std::vector<int64_t>(wanted[r].begin(), wanted[r].end()))
        << "result " << r;
  }
  EXPECT_LE(network.shuffles.size(), atMost) << sources << " vectors of " << lanes;
}

TEST(ShuffleNetworkTest, TakesColumnsOutOfRowsAndPutsThemBack) {
  for (size_t lanes : {4, 8, 16, 32}) {
    for (size_t width = 1; width <= 17; ++width) {
      Wanted columns(width), rows(width);
      for (size_t c = 0; c < width; ++c) {
        for (size_t lane = 0; lane < lanes; ++lane) {
          columns[c].push_back(static_cast<int64_t>(lane * width + c));
          size_t e = c * lanes + lane;
          rows[c].push_back(static_cast<int64_t>(e % width * lanes + e / width));
        }
      }
      // As many as one after the other would take is the most that may come out.
      expectNetwork(columns, width, lanes, width * width);
      expectNetwork(rows, width, lanes, width * width);
    }
  }
}

TEST(ShuffleNetworkTest, SharesShufflesAmongNeighbours) {
  Wanted columns(10);
  for (int64_t c = 0; c < 10; ++c) {
    for (int64_t lane = 0; lane < 16; ++lane) columns[c].push_back(lane * 10 + c);
  }
  expectNetwork(columns, 10, 16, 42);
}

TEST(ShuffleNetworkTest, TakesAnyLanesInAnyOrder) {
  expectNetwork({{3, 2, 1, 0}, {0, 0, 7, 7}, {11, 3, 11, 5}}, 3, 4, 12);
  expectNetwork({{15, 0, 15, 0}}, 4, 4, 6);
}

}  // namespace
}  // namespace isthmus::codegen
