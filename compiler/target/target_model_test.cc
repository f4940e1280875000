#include "compiler/target/target_model.h"

#include <gtest/gtest.h>

#include "compiler/target/portable_cpu.h"

namespace isthmus {
namespace {

TEST(TargetModelTest, ACpusLanesFillItsVectors) {
  TargetModel target;
  target.vectorBits = 512;
  EXPECT_EQ(target.lanesOf(8), 64u);
  EXPECT_EQ(target.lanesOf(32), 16u);
  EXPECT_EQ(target.lanesOf(64), 8u);
  target.vectorBits = 32;
  EXPECT_EQ(target.lanesOf(64), 1u);
}

TEST(TargetModelTest, VectorsInSpirvHaveAtMost16Elements) {
  TargetModel portable = portableCpuTarget("spirv64-unknown-unknown", 512);
  EXPECT_EQ(portable.device, DeviceKind::kCpu);
  EXPECT_EQ(portable.vectorLanes(8), 16u);
  EXPECT_EQ(portable.vectorLanes(64), 8u);
  TargetModel host;
  host.vectorBits = 512;
  EXPECT_EQ(host.vectorLanes(8), 64u);
}

// A kernel that joins arrays has a result and scratch memory besides.
TEST(TargetModelTest, JoinedArraysHaveRoomAmongTheParameters) {
  TargetModel any;
  ASSERT_EQ(any.maxConcatenated, 0);
  limitParameters(any, 128);
  EXPECT_EQ(any.maxConcatenated, 126);
  EXPECT_EQ(portableCpuTarget("spirv64-unknown-unknown", 512).maxConcatenated, 126);
  TargetModel few = gpuTarget("spirv64-unknown-unknown");
  EXPECT_EQ(few.maxConcatenated, 64);
  limitParameters(few, 10);
  EXPECT_EQ(few.maxConcatenated, 8);
}

TEST(TargetModelTest, AGpuComputesAnElementAThread) {
  TargetModel target = gpuTarget("nvptx64-nvidia-cuda", "sm_90");
  EXPECT_EQ(target.device, DeviceKind::kGpu);
  EXPECT_EQ(target.lanesOf(8), 1u);
  EXPECT_EQ(target.groupSize % target.subgroupSize, 0u);
  EXPECT_TRUE(target.hasGroups());
  EXPECT_TRUE(target.readsRowsAgain());
  EXPECT_FALSE(target.shufflesInSubgroup);
  EXPECT_FALSE(target.transposesInLoops());
  // Nothing of a row is kept, which would have to fit the memory of a group.
  EXPECT_EQ(target.maxKeptRowBytes(), 0);
}

TEST(TargetModelTest, WithoutGroupsEachThreadIsByItself) {
  TargetModel target = gpuTarget("spirv64-unknown-unknown");
  target.sharesGroupMemory = false;
  EXPECT_FALSE(target.hasGroups());
  EXPECT_FALSE(target.readsRowsAgain());
  EXPECT_EQ(target.largestTopK(), INT64_MAX);
  TargetModel cpu;
  EXPECT_FALSE(cpu.hasGroups());
  EXPECT_TRUE(cpu.readsRowsAgain());
  EXPECT_TRUE(cpu.transposesInLoops());
}

}  // namespace
}  // namespace isthmus
