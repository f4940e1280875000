// Library functions for communication among the devices of a launch, and their descriptors.
//
// Buffers: the operands, then as many results. Every device of a group calls the same function with
// the same descriptor; each blocks until its whole group is there, unless it only sets out
// (`startedAs`): then operands and results belong to it until isthmus_rt_await.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/abi.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

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

extern "C" {
int32_t isthmus_rt_all_reduce(IsthmusRun* run, const void* descriptor, void* const* buffers);
// After the results, unless it only sets out: scratch memory of the size of the largest result.
int32_t isthmus_rt_all_gather(IsthmusRun* run, const void* descriptor, void* const* buffers);
// The same, of the size of the largest operand.
int32_t isthmus_rt_reduce_scatter(IsthmusRun* run, const void* descriptor, void* const* buffers);
// The same, of twice the size of the largest operand.
int32_t isthmus_rt_all_to_all(IsthmusRun* run, const void* descriptor, void* const* buffers);
int32_t isthmus_rt_collective_permute(IsthmusRun* run, const void* descriptor,
                                      void* const* buffers);
int32_t isthmus_rt_collective_broadcast(IsthmusRun* run, const void* descriptor,
                                        void* const* buffers);
// Waits for the results of a collective that has set out. Descriptor: AwaitDescriptor.
int32_t isthmus_rt_await(IsthmusRun* run, const void* descriptor, void* const* buffers);
// Descriptor: ProcessIdDescriptor. buffers: the result, one ui32.
int32_t isthmus_rt_process_id(IsthmusRun* run, const void* descriptor, void* const* buffers);
}

struct AwaitDescriptor {
  int64_t number;  // as it was started
};

struct ProcessIdDescriptor {
  int32_t isPartition;  // else the replica
};

}  // namespace isthmus::cpu
