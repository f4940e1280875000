#include "backends/shared/staging/device_target.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/codegen/group_threads.h"
#include "llvm/ADT/bit.h"

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
  if (groups.subgroupThreads > 0) {
    target.features = codegen::kExchangeFeature;
    target.subgroupSize = groups.subgroupThreads;
  }
  if (target.groupSize < target.subgroupSize || target.localBytes < kMinLocalBytes) {
    // Each element is computed by itself.
    target.subgroupSize = std::numeric_limits<int32_t>::max();
  }
  return target;
}

void configureStages(const TargetModel& target, PipelineOptions& options) {
  const bool isCpu = target.device == DeviceKind::kCpu;
  options.fusion.target = target;
  // Without groups, work-items cannot share a row's intermediate values.
  options.fusion.rows = isCpu || target.hasGroups();
  options.fusion.transposes = isCpu;
  options.attention = false;
  options.epilogues = target.products.unit != ProductUnit::kFunctions;
}

}  // namespace isthmus
