// Carries collectives out through the services.
#include "backends/cpu/load/collective_functions.h"

#include "backends/cpu/load/collective_groups.h"

#include <algorithm>
#include <cstring>

namespace isthmus::cpu {
namespace {

CollectiveCall makeCall(const IsthmusRun& run, const Collective& collective,
                        const std::vector<int64_t>& group) {
  CollectiveCall call;
  call.launchId = run.request->launchId;
  call.channel = collective.head.channel;
  call.deviceId = run.request->deviceId;
  call.group = group;
  call.description = collective.description;
  return call;
}

// Reorders `data`, an array of [a, b] blocks, to [b, a].
void swapBlocks(const char* from, char* to, int64_t a, int64_t b, int64_t blockBytes) {
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) {
      std::memcpy(to + (j * a + i) * blockBytes, from + (i * b + j) * blockBytes, blockBytes);
    }
  }
}

int32_t finish(IsthmusRun* run, Status status) {
  return status.ok() ? 0 : fail(run, std::move(status));
}

// Operands that are reduced together cost two copies, and save a meeting each.
constexpr int64_t kMostPackedBytes = int64_t{64} << 10;

// The end of the operands from `first` on that are reduced together.
int32_t endOfPack(const Collective& collective, int32_t first, int64_t width) {
  int64_t bytes = 0;
  int32_t end = first;
  while (end < collective.head.numOperands) {
    bytes += collective.operands[end].elements * width;
    if (bytes > kMostPackedBytes) break;
    ++end;
  }
  return std::max(end, first + 1);
}

// Reduces operands [first, end) one behind the other in memory of their own.
Status allReducePacked(IsthmusRun* run, const Collective& collective, const CollectiveCall& call,
                       int32_t first, int32_t end, void* const* buffers) {
  const auto width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  int64_t elements = 0;
  for (int32_t i = first; i < end; ++i) elements += collective.operands[i].elements;
  const auto bytes = static_cast<size_t>(std::max<int64_t>(1, elements * width));
  char* pack = static_cast<char*>(run->services->allocateScratch(bytes));
  if (pack == nullptr) {
    return resourceExhausted(collective.description, ": no memory for ", bytes, " bytes");
  }
  auto forEach = [&](auto copy) {
    char* place = pack;
    for (int32_t i = first; i < end; ++i) {
      const auto size = static_cast<size_t>(collective.operands[i].elements * width);
      if (size > 0) copy(i, place, size);
      place += size;
    }
  };
  forEach([&](int32_t i, char* place, size_t size) { std::memcpy(place, buffers[i], size); });
  Status status = run->services->collectives().allReduce(
      call, collective.head.reduction, collective.head.type, elements, pack, pack);
  if (status.ok()) {
    forEach([&](int32_t i, char* place, size_t size) {
      std::memcpy(buffers[collective.head.numOperands + i], place, size);
    });
  }
  run->services->freeScratch(pack, bytes);
  return status;
}

Status allReduce(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(*run->request, collective));
  int32_t count = collective.head.numOperands;
  const auto width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  for (int32_t i = 0, end = 0; i < count; i = end) {
    CollectiveCall call = makeCall(*run, collective, group);
    end = endOfPack(collective, i, width);
    if (end > i + 1) {
      ISTHMUS_RETURN_IF_ERROR(allReducePacked(run, collective, call, i, end, buffers));
      continue;
    }
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().allReduce(
        call, collective.head.reduction, collective.head.type, collective.operands[i].elements,
        buffers[i], buffers[count + i]));
  }
  return {};
}

Status allGather(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(*run->request, collective));
  int32_t count = collective.head.numOperands;
  int64_t width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  char* scratch = static_cast<char*>(buffers[2 * count]);
  for (int32_t i = 0; i < count; ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    int64_t ranks = static_cast<int64_t>(group.size());
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements * ranks, ranks));
    int64_t bytes = operand.elements * width;
    char* result = static_cast<char*>(buffers[count + i]);
    bool isLeading = operand.joinOuter <= 1;
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().allGather(
        makeCall(*run, collective, group), bytes, buffers[i], isLeading ? result : scratch));
    if (!isLeading && bytes > 0) {
      swapBlocks(scratch, result, static_cast<int64_t>(group.size()), operand.joinOuter,
                 bytes / operand.joinOuter);
    }
  }
  return {};
}

Status reduceScatter(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(*run->request, collective));
  int32_t count = collective.head.numOperands;
  int64_t width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  int64_t ranks = static_cast<int64_t>(group.size());
  char* scratch = static_cast<char*>(buffers[2 * count]);
  for (int32_t i = 0; i < count; ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective, operand, ranks));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements / ranks, ranks));
    const void* input = buffers[i];
    if (operand.splitOuter > 1 && operand.elements > 0) {
      swapBlocks(static_cast<const char*>(input), scratch, operand.splitOuter, ranks,
                 operand.elements / std::max<int64_t>(1, operand.splitOuter * ranks) * width);
      input = scratch;
    }
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().reduceScatter(
        makeCall(*run, collective, group), collective.head.reduction, collective.head.type,
        operand.elements / ranks, input, buffers[count + i]));
  }
  return {};
}

Status allToAll(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(*run->request, collective));
  int32_t count = collective.head.numOperands;
  int64_t width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  int64_t ranks = static_cast<int64_t>(group.size());
  char* scratch = static_cast<char*>(buffers[2 * count]);
  for (int32_t i = 0; i < count; ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    ISTHMUS_RETURN_IF_ERROR(checkSplit(collective, operand, ranks));
    ISTHMUS_RETURN_IF_ERROR(checkResult(collective, operand, operand.elements, ranks));
    int64_t bytes = operand.elements * width;
    const void* input = buffers[i];
    if (operand.splitOuter > 1 && operand.elements > 0) {
      swapBlocks(static_cast<const char*>(input), scratch, operand.splitOuter, ranks,
                 bytes / std::max<int64_t>(1, operand.splitOuter * ranks));
      input = scratch;
    }
    char* result = static_cast<char*>(buffers[count + i]);
    char* output = operand.joinOuter > 1 ? scratch + bytes : result;
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().allToAll(makeCall(*run, collective, group),
                                                                  bytes / ranks, input, output));
    if (operand.joinOuter > 1 && bytes > 0) {
      swapBlocks(output, result, ranks, operand.joinOuter, bytes / ranks / operand.joinOuter);
    }
  }
  return {};
}

Status permute(IsthmusRun* run, const Collective& collective, void* const* buffers,
               const StatusOr<std::vector<int64_t>>& sources) {
  ISTHMUS_RETURN_IF_ERROR(sources.status());
  std::vector<int64_t> everybody = everybodyOf(*run->request, collective);
  int32_t count = collective.head.numOperands;
  for (int32_t i = 0; i < count; ++i) {
    int64_t bytes = collective.operands[i].elements *
                    static_cast<int64_t>(elementSizeBytes(collective.head.type));
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().permute(
        makeCall(*run, collective, everybody), *sources, bytes, buffers[i], buffers[count + i]));
  }
  return {};
}

}  // namespace

std::string makeCollectiveDescriptor(CollectiveDescriptor head,
                                     std::span<const CollectiveOperand> operands,
                                     std::span<const int64_t> ids, std::string_view description) {
  head.numOperands = static_cast<int32_t>(operands.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes.append(reinterpret_cast<const char*>(operands.data()), operands.size_bytes());
  bytes.append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
  bytes.append(description);
  bytes.push_back('\0');
  return bytes;
}

extern "C" {

int32_t isthmus_rt_all_reduce(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return finish(run, allReduce(run, Collective(descriptor), buffers));
}

int32_t isthmus_rt_all_gather(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return finish(run, allGather(run, Collective(descriptor), buffers));
}

int32_t isthmus_rt_reduce_scatter(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return finish(run, reduceScatter(run, Collective(descriptor), buffers));
}

int32_t isthmus_rt_all_to_all(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  return finish(run, allToAll(run, Collective(descriptor), buffers));
}

int32_t isthmus_rt_collective_permute(IsthmusRun* run, const void* descriptor,
                                      void* const* buffers) {
  Collective collective(descriptor);
  return finish(run, permute(run, collective, buffers, sourcesByPairs(*run->request, collective)));
}

int32_t isthmus_rt_collective_broadcast(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  Collective collective(descriptor);
  return finish(run,
                permute(run, collective, buffers, sourcesOfBroadcast(*run->request, collective)));
}

int32_t isthmus_rt_process_id(IsthmusRun* run, const void* descriptor, void* const* buffers) {
  bool isPartition = static_cast<const ProcessIdDescriptor*>(descriptor)->isPartition != 0;
  uint32_t id =
      static_cast<uint32_t>(isPartition ? run->request->partition : run->request->replica);
  std::memcpy(buffers[0], &id, sizeof(id));
  return 0;
}

}  // extern "C"

}  // namespace isthmus::cpu
