#include "runtime/memory/mapped_ranges.h"

#include <gtest/gtest.h>

namespace isthmus {
namespace {

char memory[100];

TEST(MappedRanges, EndAsOftenAsTheyBegan) {
  MappedRanges ranges;
  EXPECT_EQ(ranges.remove(memory).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ranges.add(memory, 10).ok());
  EXPECT_TRUE(ranges.add(memory, 20).ok());
  EXPECT_EQ(ranges.remove(memory + 1).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(ranges.remove(memory).ok());
  EXPECT_TRUE(ranges.remove(memory).ok());
  EXPECT_EQ(ranges.remove(memory).code(), StatusCode::kInvalidArgument);
}

TEST(MappedRanges, AreOfBytesThatThereAre) {
  MappedRanges ranges;
  EXPECT_EQ(ranges.add(memory, 0).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ranges.add(memory, SIZE_MAX).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace isthmus
