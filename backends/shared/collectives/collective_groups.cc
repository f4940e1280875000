#include "backends/shared/collectives/collective_groups.h"

#include <algorithm>

namespace isthmus {
namespace {

// Where this device stands in the launch.
struct Process {
  const RunRequest& request;
  int numReplicas;
  int numPartitions;

  explicit Process(const RunRequest& run)
      : request(run),
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

}  // namespace

StatusOr<std::vector<int64_t>> findOwnGroup(const RunRequest& request,
                                            const Collective& collective) {
  Process process(request);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> group, findGroup(process, collective));
  if (group.empty()) {
    return invalidArgument(collective.description, ": replica ", process.request.replica,
                           ", partition ", process.request.partition, " is in no group");
  }
  return group;
}

// The result is written by the size of the group, which its type may contradict.
Status checkSplit(const Collective& collective, const CollectiveOperand& operand, int64_t ranks) {
  if (operand.elements == 0 || operand.elements % (operand.splitOuter * ranks) == 0) return {};
  return invalidArgument(collective.description, ": the dimension does not divide by ", ranks);
}

Status checkResult(const Collective& collective, const CollectiveOperand& operand,
                   int64_t expectedElements, int64_t ranks) {
  if (operand.resultElements == expectedElements) return {};
  return invalidArgument(collective.description, ": a result has ", operand.resultElements,
                         " elements, expected ", expectedElements, " in a group of ", ranks);
}

std::vector<int64_t> everybodyOf(const RunRequest& request, const Collective& collective) {
  Process process(request);
  GroupMode mode = collective.head.mode;
  std::vector<int64_t> everybody;
  for (int64_t id = 0; id < process.numIds(mode); ++id) process.appendDevices(mode, id, everybody);
  return everybody;
}

StatusOr<std::vector<int64_t>> sourcesByPairs(const RunRequest& request,
                                              const Collective& collective) {
  std::vector<int64_t> sources(Process(request).numIds(collective.head.mode), -1);
  for (int64_t i = 0; i < collective.head.numGroups; ++i) {
    ISTHMUS_RETURN_IF_ERROR(
        setSource(collective, collective.ids[2 * i], collective.ids[2 * i + 1], sources));
  }
  return sources;
}

StatusOr<std::vector<int64_t>> sourcesOfBroadcast(const RunRequest& request,
                                                  const Collective& collective) {
  // Without groups, all are one.
  std::vector<int64_t> sources(Process(request).numIds(collective.head.mode),
                               collective.ids.empty() ? 0 : -1);
  for (int64_t g = 0; g < collective.head.numGroups; ++g) {
    auto group = collective.ids.subspan(g * collective.head.groupSize, collective.head.groupSize);
    for (int64_t id : group) {
      if (id < 0) continue;
      ISTHMUS_RETURN_IF_ERROR(setSource(collective, group[0], id, sources));
    }
  }
  return sources;
}

}  // namespace isthmus
