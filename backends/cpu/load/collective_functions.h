// Library functions for communication among the devices of a launch. Their descriptors are those of
// collective_descriptor.h where nothing else is said.
//
// Buffers: the operands, then as many results. Every device of a group calls the same function with
// the same descriptor; each blocks until its whole group is there, unless it only sets out
// (`startedAs`): then operands and results belong to it until isthmus_rt_await.
#pragma once

#include <cstdint>

#include "backends/cpu/abi.h"
#include "backends/shared/collectives/collective_descriptor.h"

namespace isthmus::cpu {

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
