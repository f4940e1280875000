#include "compiler/target/target_model.h"

#include <gtest/gtest.h>

#include "compiler/target/nvidia.h"
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
  EXPECT_EQ(vectorLanes(portable, 8), 16u);
  EXPECT_EQ(vectorLanes(portable, 64), 8u);
  TargetModel host;
  host.vectorBits = 512;
  EXPECT_EQ(vectorLanes(host, 8), 64u);
}

TEST(TargetModelTest, AGpuComputesAnElementAThread) {
  TargetModel target = gpuTarget("nvptx64-nvidia-cuda", "sm_90");
  EXPECT_EQ(target.device, DeviceKind::kGpu);
  EXPECT_EQ(target.lanesOf(8), 1u);
  EXPECT_EQ(target.groupSize % target.subgroupSize, 0u);
  // Nothing of a row is kept, which would have to fit the memory of a group.
  EXPECT_EQ(target.maxKeptRowBytes(), 0);
}

TEST(TargetModelTest, AnNvidiaGpuIsOfItsGeneration) {
  TargetModel ampere = nvidiaTarget(86), hopper = nvidiaTarget(120);
  EXPECT_EQ(ampere.cpu, "sm_80");
  EXPECT_EQ(hopper.cpu, "sm_90");
  EXPECT_GT(hopper.memoryBytesPerNs, ampere.memoryBytesPerNs);
  for (const TargetModel& target : {ampere, hopper}) {
    EXPECT_EQ(target.device, DeviceKind::kGpu);
    EXPECT_LE(target.wholeRowBytes, target.maxRowBytes);
    // A group whose threads use all the registers that they may fits one unit.
    EXPECT_LE(target.groupSize * kNvidiaThreadRegisters, kNvidiaUnitRegisters);
  }
}

}  // namespace
}  // namespace isthmus
