// Finds a device's group and carries collectives out through the services.
#include "backends/cpu/load/collective_functions.h"

#include <algorithm>
#include <cstring>

namespace isthmus::cpu {
namespace {

// A descriptor taken apart; views its bytes.
struct Collective {
  CollectiveDescriptor head;
  std::span<const CollectiveOperand> operands;
  std::span<const int64_t> ids;
  const char* description;

  explicit Collective(const void* data) {
    const char* bytes = static_cast<const char*>(data);
    std::memcpy(&head, bytes, sizeof(head));
    bytes += sizeof(head);
    operands = {reinterpret_cast<const CollectiveOperand*>(bytes),
                static_cast<size_t>(head.numOperands)};
    bytes += operands.size_bytes();
    ids = {reinterpret_cast<const int64_t*>(bytes),
           static_cast<size_t>(head.numGroups * head.groupSize)};
    description = bytes + ids.size_bytes();
  }
};

// Where this device stands in the launch.
struct Process {
  const RunRequest& request;
  int numReplicas;
  int numPartitions;

  explicit Process(const IsthmusRun& run)
      : request(*run.request),
        numReplicas(request.assignment ? request.assignment->numReplicas : 1),
        numPartitions(request.assignment ? request.assignment->numPartitions : 1) {}

  int64_t device(int64_t replica, int64_t partition) const {
    if (!request.assignment) return request.deviceId;
    return request.assignment->deviceIds[replica * numPartitions + partition];
  }
  int64_t numIds(GroupMode mode) const {
    switch (mode) {
      case GroupMode::kReplicas:
      case GroupMode::kReplicasAllPartitions:
        return numReplicas;
      case GroupMode::kPartitions:
        return numPartitions;
      case GroupMode::kDevices:
        return int64_t{numReplicas} * numPartitions;
    }
    return 0;
  }
  int64_t ownId(GroupMode mode) const {
    switch (mode) {
      case GroupMode::kReplicas:
      case GroupMode::kReplicasAllPartitions:
        return request.replica;
      case GroupMode::kPartitions:
        return request.partition;
      case GroupMode::kDevices:
        return int64_t{request.replica} * numPartitions + request.partition;
    }
    return 0;
  }
  // The devices that `id` stands for, appended.
  void appendDevices(GroupMode mode, int64_t id, std::vector<int64_t>& devices) const {
    switch (mode) {
      case GroupMode::kReplicas:
        devices.push_back(device(id, request.partition));
        break;
      case GroupMode::kPartitions:
        devices.push_back(device(request.replica, id));
        break;
      case GroupMode::kReplicasAllPartitions:
        for (int p = 0; p < numPartitions; ++p) devices.push_back(device(id, p));
        break;
      case GroupMode::kDevices:
        devices.push_back(device(id / numPartitions, id % numPartitions));
        break;
    }
  }
};

// The devices of the caller's group in rank order; empty if it is in none.
StatusOr<std::vector<int64_t>> findGroup(const Process& process, const Collective& collective) {
  GroupMode mode = collective.head.mode;
  int64_t count = process.numIds(mode);
  std::vector<int64_t> devices;
  if (collective.ids.empty()) {
    for (int64_t id = 0; id < count; ++id) process.appendDevices(mode, id, devices);
    return devices;
  }
  for (int64_t g = 0; g < collective.head.numGroups; ++g) {
    auto group = collective.ids.subspan(g * collective.head.groupSize, collective.head.groupSize);
    if (std::find(group.begin(), group.end(), process.ownId(mode)) == group.end()) continue;
    for (int64_t id : group) {
      if (id < 0) continue;
      if (id >= count) {
        return invalidArgument(collective.description, ": id ", id, " in a group, there are ",
                               count);
      }
      process.appendDevices(mode, id, devices);
    }
    return devices;
  }
  return devices;
}

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

StatusOr<std::vector<int64_t>> findOwnGroup(const Process& process, const Collective& collective) {
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findGroup(process, collective));
  if (group.empty()) {
    return invalidArgument(collective.description, ": replica ", process.request.replica,
                           ", partition ", process.request.partition, " is in no group");
  }
  return group;
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

// The result is written by the size of the group, which its type may contradict.
Status checkResult(const Collective& collective, const CollectiveOperand& operand,
                   int64_t expectedElements, int64_t ranks) {
  if (operand.resultElements == expectedElements) return {};
  return invalidArgument(collective.description, ": a result has ", operand.resultElements,
                         " elements, expected ", expectedElements, " in a group of ", ranks);
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
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(Process(*run), collective));
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
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(Process(*run), collective));
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
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(Process(*run), collective));
  int32_t count = collective.head.numOperands;
  int64_t width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  int64_t ranks = static_cast<int64_t>(group.size());
  char* scratch = static_cast<char*>(buffers[2 * count]);
  for (int32_t i = 0; i < count; ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    if (operand.elements > 0 && operand.elements % (operand.splitOuter * ranks) != 0) {
      return invalidArgument(collective.description, ": the dimension does not divide by ", ranks);
    }
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
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findOwnGroup(Process(*run), collective));
  int32_t count = collective.head.numOperands;
  int64_t width = static_cast<int64_t>(elementSizeBytes(collective.head.type));
  int64_t ranks = static_cast<int64_t>(group.size());
  char* scratch = static_cast<char*>(buffers[2 * count]);
  for (int32_t i = 0; i < count; ++i) {
    const CollectiveOperand& operand = collective.operands[i];
    if (operand.elements > 0 && operand.elements % (operand.splitOuter * ranks) != 0) {
      return invalidArgument(collective.description, ": the dimension does not divide by ", ranks);
    }
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

// Among all devices that differ from the caller only in what ids name. `sources` has the id that
// each id gets its data from, or -1.
Status permute(IsthmusRun* run, const Collective& collective, void* const* buffers,
               const std::vector<int64_t>& sourceIds) {
  Process process(*run);
  GroupMode mode = collective.head.mode;
  std::vector<int64_t> everybody;
  for (int64_t id = 0; id < process.numIds(mode); ++id) process.appendDevices(mode, id, everybody);
  int32_t count = collective.head.numOperands;
  for (int32_t i = 0; i < count; ++i) {
    int64_t bytes = collective.operands[i].elements *
                    static_cast<int64_t>(elementSizeBytes(collective.head.type));
    ISTHMUS_RETURN_IF_ERROR(run->services->collectives().permute(
        makeCall(*run, collective, everybody), sourceIds, bytes, buffers[i], buffers[count + i]));
  }
  return {};
}

// Says that `target` gets its data from `source`; kInvalidArgument if there are no such ids.
Status setSource(const Collective& collective, int64_t source, int64_t target,
                 std::vector<int64_t>& sources) {
  auto count = static_cast<int64_t>(sources.size());
  if (source < 0 || source >= count || target < 0 || target >= count) {
    return invalidArgument(collective.description, ": source ", source, " and target ", target,
                           ", there are ", count);
  }
  sources[target] = source;
  return {};
}

// Pairs of source and target.
Status permuteByPairs(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  std::vector<int64_t> sources(Process(*run).numIds(collective.head.mode), -1);
  for (int64_t i = 0; i < collective.head.numGroups; ++i) {
    ISTHMUS_RETURN_IF_ERROR(
        setSource(collective, collective.ids[2 * i], collective.ids[2 * i + 1], sources));
  }
  return permute(run, collective, buffers, sources);
}

// In each group, from its first id to all of it.
Status broadcast(IsthmusRun* run, const Collective& collective, void* const* buffers) {
  std::vector<int64_t> sources(Process(*run).numIds(collective.head.mode), -1);
  for (int64_t g = 0; g < collective.head.numGroups; ++g) {
    auto group = collective.ids.subspan(g * collective.head.groupSize, collective.head.groupSize);
    for (int64_t id : group) {
      if (id < 0) continue;
      ISTHMUS_RETURN_IF_ERROR(setSource(collective, group[0], id, sources));
    }
  }
  return permute(run, collective, buffers, sources);
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
  return finish(run, permuteByPairs(run, Collective(descriptor), buffers));
}

int32_t isthmus_rt_collective_broadcast(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers) {
  return finish(run, broadcast(run, Collective(descriptor), buffers));
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
