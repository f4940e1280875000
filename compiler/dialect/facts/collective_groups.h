// Collectives, and what the numbers in their groups are (StableHLO's specification, "Collective
// ops").
#pragma once

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"

namespace isthmus {

// Whether devices meet in `op`.
inline bool isCollective(mlir::Operation* op) {
  const OpFacts* facts = findOpFacts(op);
  return facts && facts->isCollective;
}

enum class GroupIds {
  kReplicas,                 // replicas; the partition is the caller's
  kPartitions,               // partitions; the replica is the caller's
  kReplicasOfAllPartitions,  // replicas, each with all of its partitions
  kDevices,                  // replica * number of partitions + partition
};

// Whether the processes that meet may be of several partitions.
template <typename Op>
bool hasChannel(Op op) {
  auto channel = op.getChannelHandle();
  return channel && channel->getHandle() > 0;
}

// Of all_reduce, all_gather and reduce_scatter, whose verifier asks for a channel beside
// use_global_device_ids.
template <typename Op>
GroupIds groupIdsOfReduction(Op op) {
  if (!hasChannel(op)) return GroupIds::kReplicas;
  return op.getUseGlobalDeviceIds() ? GroupIds::kDevices : GroupIds::kReplicasOfAllPartitions;
}

// Of all_to_all, collective_permute and collective_broadcast.
template <typename Op>
GroupIds groupIdsOfExchange(Op op) {
  return hasChannel(op) ? GroupIds::kPartitions : GroupIds::kReplicas;
}

}  // namespace isthmus
