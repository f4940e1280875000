// What a compiled program says of a collective, as plain data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "isthmus/run_services.h"
#include "isthmus/types.h"

namespace isthmus {

// How the ids of a group name processes (StableHLO's spec, "Collective ops").
enum class GroupMode : int32_t {
  kReplicas,               // replicas; the partition is the caller's
  kPartitions,             // partitions; the replica is the caller's
  kReplicasAllPartitions,  // replicas, each with all of its partitions
  kDevices,                // replica * number of partitions + partition
};

// Followed by a CollectiveOperand per operand; then by numGroups * groupSize ids (int64; -1 fills
// short groups; no groups means one of all), or by numGroups (source, target) pairs for a
// permutation; then by the description, which ends in a zero.
struct CollectiveDescriptor {
  GroupMode mode;
  ReductionKind reduction;
  ElementType type;
  int32_t numOperands;
  int64_t channel;  // unique among the collectives of a program
  int64_t numGroups;
  int64_t groupSize;       // 2 for pairs
  int64_t startedAs = -1;  // number of what isthmus_rt_await ends; -1: it ends at once
};

struct CollectiveOperand {
  int64_t elements;        // of the operand
  int64_t resultElements;  // what its type says: only at run time is it known how large groups are
  // Product of the dimensions before the one that is split (reduce_scatter, all_to_all), and before
  // the one along which parts are joined (all_gather, all_to_all).
  int64_t splitOuter = 1;
  int64_t joinOuter = 1;
};

// The bytes of a descriptor. `ids` holds the groups row by row, or the pairs.
std::string makeCollectiveDescriptor(CollectiveDescriptor head,
                                     std::span<const CollectiveOperand> operands,
                                     std::span<const int64_t> ids, std::string_view description);

// A descriptor taken apart; views its bytes.
struct Collective {
  CollectiveDescriptor head;
  std::span<const CollectiveOperand> operands;
  std::span<const int64_t> ids;
  const char* description;

  explicit Collective(const void* data);
};

}  // namespace isthmus
