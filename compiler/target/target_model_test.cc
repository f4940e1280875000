#include "compiler/target/target_model.h"

#include <gtest/gtest.h>

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

TEST(TargetModelTest, AGpuComputesAnElementAThread) {
  TargetModel target = gpuTarget("nvptx64-nvidia-cuda", "sm_90");
  EXPECT_EQ(target.device, DeviceKind::kGpu);
  EXPECT_EQ(target.lanesOf(8), 1u);
  EXPECT_EQ(target.groupSize % target.subgroupSize, 0u);
  // What a kernel keeps of a row must fit the memory of a group.
  EXPECT_LE(target.maxKeptRowBytes(), target.localBytes);
}

}  // namespace
}  // namespace isthmus
