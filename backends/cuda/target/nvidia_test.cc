#include "backends/cuda/target/nvidia.h"

#include <gtest/gtest.h>

namespace isthmus::cuda {
namespace {

// What a kernel of these generations may use, in 32-bit registers: of a unit on which groups run,
// and of one thread.
constexpr int64_t kUnitRegisters = 64 << 10, kThreadRegisters = 255;

TEST(NvidiaTarget, a_gpu_is_of_its_generation) {
  TargetModel ampere = nvidiaTarget(86), hopper = nvidiaTarget(120);
  EXPECT_EQ(ampere.cpu, "sm_80");
  EXPECT_EQ(hopper.cpu, "sm_90");
  EXPECT_GT(hopper.memoryBytesPerNs, ampere.memoryBytesPerNs);
  for (const TargetModel& target : {ampere, hopper}) {
    EXPECT_EQ(target.device, DeviceKind::kGpu);
    EXPECT_LE(target.wholeRowBytes, target.maxRowBytes);
    // A group whose threads use all the registers that they may fits one unit.
    EXPECT_LE(target.groupSize * kThreadRegisters, kUnitRegisters);
    EXPECT_TRUE(target.hasGroups());
    EXPECT_TRUE(target.shufflesInSubgroup);
    EXPECT_EQ(target.intrinsics, Intrinsics::kNvptx);
  }
}

// The kernel of tensor cores keeps its tiles in what a kernel may declare.
TEST(NvidiaTarget, tiles_of_tensor_cores_fit_a_group) {
  const TargetModel target = nvidiaTarget(90);
  const ProductModel& model = target.products;
  const int64_t rows = model.subgroupsDown * model.largeBlockRows * model.instructionRows;
  const int64_t columns =
      model.subgroupsAcross * model.largeBlockColumns * model.instructionColumns;
  EXPECT_LE((rows + columns) * model.tileSteps * model.instructionBytes * model.tilesAtOnce,
            target.localBytes);
  EXPECT_LE(model.subgroupsDown * model.subgroupsAcross * target.subgroupSize, target.groupSize);
}

}  // namespace
}  // namespace isthmus::cuda
