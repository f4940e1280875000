// The models of devices that are described rather than recognised.
#include "compiler/target/target_model.h"

#include <algorithm>
#include <utility>

namespace isthmus {

TargetModel gpuTarget(std::string triple, std::string cpu) {
  TargetModel target;
  target.device = DeviceKind::kGpu;
  target.triple = std::move(triple);
  target.cpu = std::move(cpu);
  target.maxVectorElements = maxVectorElementsOf(target.triple);
  target.vectorBits = 0;
  target.fma = true;
  target.masksAsIntegers = false;
  target.maxInterleave = 1;
  target.subgroupSize = 32;
  target.sharesGroupMemory = true;
  target.groupSize = 256;
  target.localBytes = 32 << 10;
  target.l2Bytes = 4 << 20;
  target.memoryBytesPerNs = 400;
  target.cacheBytesPerNs = 1600;
  target.cacheResidentBytes = target.l2Bytes;
  target.elementOpsPerNs = 8000;
  target.scalarOpsPerNs = 100;
  // A launch.
  target.kernelNs = 6'250;
  target.products.unit = ProductUnit::kThreads;
  // A row that is read several times must be shared by a group.
  target.maxRowBytes = target.localBytes;
  target.wholeRowBytes = target.localBytes;
  target.maxSingleRowElements = 1 << 13;
  // Fewer scores stay in the cache; a block of keys and values is read once, however short rows
  // are.
  target.minScoreBytes = 256 << 10;
  target.minScoreColumns = 64;
  // A tile is what one thread does: one element.
  target.parallelNs = 0;
  target.parallelProductNs = 0;
  target.grainNs = 0;
  target.tileNs = 0;
  target.fusedStepsNs = 100;
  target.joinedStepsNs = target.fusedStepsNs;
  target.maxTiles = int64_t{1} << 40;
  target.maxScatterTiles = int64_t{1} << 40;
  target.minTileBytes = 1;
  target.minScatterUpdates = 1;
  target.enoughRows = 4096;
  target.enoughColumns = 1 << 16;
  target.maxParts = 2048;
  target.joinsByCopies = false;
  target.maxConcatenated = 64;
  limitParameters(target, kFewestParameters);
  return target;
}

unsigned maxVectorElementsOf(std::string_view triple) {
  return triple.starts_with("spirv") ? 16 : std::numeric_limits<unsigned>::max();
}

void limitParameters(TargetModel& target, int64_t most) {
  // Beside what is joined: the result, and scratch memory.
  constexpr int64_t kOthers = 2;
  target.maxParameters = most;
  target.maxKernelBuffers = static_cast<int>(std::min<int64_t>(target.maxKernelBuffers, most));
  const bool joinsAnyNumber = target.maxConcatenated == 0;
  target.maxConcatenated =
      joinsAnyNumber ? most - kOthers : std::min(target.maxConcatenated, most - kOthers);
}

}  // namespace isthmus
