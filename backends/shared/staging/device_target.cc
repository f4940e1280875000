#include "backends/shared/staging/device_target.h"

#include <algorithm>
#include <utility>

#include "llvm/ADT/bit.h"
#include "llvm/TargetParser/Triple.h"

namespace isthmus {
namespace {

// What sums of a group's threads may take: an element of each, of 8 bytes, several times.
constexpr int64_t kMinLocalBytes = 16 << 10;
// Arrays begin at multiples of so many, of other owners' memory as well.
constexpr unsigned kBufferBytes = 16;

}  // namespace

TargetModel groupTarget(std::string triple, const DeviceGroups& groups) {
  TargetModel target = gpuTarget(std::move(triple));
  target.groupSize = llvm::bit_floor(std::min(groups.threads, target.groupSize));
  target.localBytes = groups.memoryBytes;
  target.atomicBits = groups.atomicBits;
  target.maxRowBytes = groups.memoryBytes;
  target.wholeRowBytes = groups.memoryBytes;
  target.bufferBytes = kBufferBytes;
  target.threadBits = std::min(groups.vectorBits, 8 * kBufferBytes);
  target.shufflesInSubgroup = groups.subgroupThreads > 0;
  if (target.shufflesInSubgroup) target.subgroupSize = groups.subgroupThreads;
  target.sharesGroupMemory =
      target.groupSize >= target.subgroupSize && target.localBytes >= kMinLocalBytes;
  return target;
}

Intrinsics intrinsicsOf(const std::string& triple) {
  const llvm::Triple parsed(triple);
  if (parsed.isX86()) return Intrinsics::kX86;
  return parsed.isNVPTX() ? Intrinsics::kNvptx : Intrinsics::kNone;
}

void configureStages(const TargetModel& target, PipelineOptions& options) {
  options.fusion.target = target;
  options.attention = false;
  options.epilogues = target.products.unit != ProductUnit::kFunctions;
}

}  // namespace isthmus
