// NVIDIA's data centre GPUs. From the whitepapers "NVIDIA A100 Tensor Core GPU Architecture" (2020)
// and "NVIDIA H100 Tensor Core GPU Architecture" (2022), SXM modules, and from the CUDA C++
// Programming Guide's table of technical specifications per compute capability. On an H100 a copy
// reached 2.96 TB/s, f32 products 51 TFLOP/s and bf16 products 790 (`bench/ceilings.py`).
#include "backends/cuda/target/nvidia.h"

namespace isthmus::cuda {

int64_t nvidiaUnits(int capability) { return capability >= 90 ? 132 : 108; }

TargetModel nvidiaTarget(int capability) {
  bool isHopper = capability >= 90;
  TargetModel target = gpuTarget("nvptx64-nvidia-cuda", isHopper ? "sm_90" : "sm_80");
  target.intrinsics = Intrinsics::kNvptx;
  // Additions of vectors to memory are of PTX 8.1: drivers from CUDA 12.1 on take it.
  if (isHopper) target.features = "+ptx81";
  target.convertsF16 = true;
  target.roundsToBf16 = true;
  // 4352 bytes.
  limitParameters(target, 544);
  target.subgroupSize = 32;
  target.groupSize = 256;
  target.shufflesInSubgroup = true;
  // What a kernel may declare; more (163 KiB, 227 KiB) must be asked for at each launch.
  target.localBytes = 48 << 10;
  target.atomicBits = 64;
  target.atomicFloats =
      isHopper ? TargetModel::AtomicFloats::kBf16 : TargetModel::AtomicFloats::kF16;
  target.atomicVectorBits = isHopper ? 128 : 0;
  target.threadBits = 128;
  target.bufferBytes = 16;
  target.l2Bytes = int64_t{isHopper ? 50 : 40} << 20;
  target.memoryBytesPerNs = isHopper ? 3350 : 1555;
  // A100: 5120 bytes per clock of 1.41 GHz. H100's is not published; the same per clock of 1.83
  // GHz.
  target.cacheBytesPerNs = isHopper ? 9400 : 7200;
  target.cacheResidentBytes = target.l2Bytes;
  // Units times f32 operations per clock (128; 64) times GHz.
  target.elementOpsPerNs =
      static_cast<double>(nvidiaUnits(capability)) * (isHopper ? 128 * 1.83 : 64 * 1.41);
  // Atomic additions to places of no order: one per clock and slice of the second-level cache.
  target.scalarOpsPerNs = isHopper ? 170 : 110;
  // A launch.
  target.kernelNs = isHopper ? 1'600 : 5'100;
  // A group comes back to its row in the second-level cache, and where it does not, has read it
  // only once more than if what is computed of it had been written and read.
  target.maxRowBytes = 512 << 10;
  target.wholeRowBytes = target.localBytes;
  // As many groups as units hold at once.
  constexpr int64_t kGroupsOfUnit = 4;
  target.enoughRows = kGroupsOfUnit * nvidiaUnits(capability);
  target.products.unit = ProductUnit::kWarps;
  target.products.instructionRows = Mma::kRows;
  target.products.instructionColumns = Mma::kColumns;
  target.products.instructionBytes = Mma::kBytes;
  // Four warps with 64 rows and columns each, or with 32: a larger part of a tile for each reads
  // fewer bytes of the group's memory, which is what bounds eight.
  target.products.subgroupsDown = target.products.subgroupsAcross = 2;
  target.products.largeBlockRows = 64 / Mma::kRows;
  target.products.largeBlockColumns = 64 / Mma::kColumns;
  target.products.smallBlockRows = 32 / Mma::kRows;
  target.products.smallBlockColumns = 32 / Mma::kColumns;
  target.products.maxInstructionSums = 128;
  // Two tiles are on their way while one is multiplied: of large ones that is all of the memory.
  target.products.tileSteps = 2;
  target.products.tilesAtOnce = 3;
  target.products.enoughGroups = nvidiaUnits(capability);
  return target;
}

}  // namespace isthmus::cuda
