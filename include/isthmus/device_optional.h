// What a device may have beside a queue and kernels of single work-items. None of it is needed:
// a DeviceCompiler or DeviceQueue that says nothing of it goes without.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "isthmus/device_queue.h"
#include "isthmus/run_services.h"
#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus {

// ---- Groups of threads --------------------------------------------------------------------------

// What the threads of a group have in common, and how they reach the device's memory. Kernels of
// groups (DeviceKernel::groupThreads) call functions that the module declares and the device
// defines; all threads of a group come to the last two:
//
//   i64  isthmus_group()              the number of the calling thread's group, from 0; a launch
//                                     has exactly as many groups as the kernel has items
//   i64  isthmus_thread_in_group()    the number of the thread in its group, from 0
//   void isthmus_group_barrier()      waits for the group's threads, and makes their stores to the
//                                     group's memory seen by all of them
//   i32  isthmus_subgroup_shuffle(i32, i32)
//                                     the first argument of the thread whose number in the group
//                                     differs by the one bit that the second argument is
//
// The group's memory is the module's global variables in address space 3: each group has its own,
// with any contents at first.
struct DeviceGroups {
  unsigned threads = 0;          // of a group, at most, at least 32; 0: the device has no groups
  int64_t memoryBytes = 0;       // that a group shares, at least 16 KiB
  unsigned subgroupThreads = 0;  // that shuffle registers: a power of two; 0: none do
  unsigned atomicBits = 32;  // of the longest integers that are exchanged in the device's memory
  unsigned vectorBits = 0;   // of neighbours that a thread reads and writes at once: up to 128
};

// ---- The host's part ----------------------------------------------------------------------------

// What carries out, on the host, operations that a device has no kernel of: linear algebra, custom
// calls and callbacks, collectives, sorts of devices without them. The runtime copies arrays there
// and back; which operations they are is logged at level info.
class HostFunctionProvider;

// The CPU backend's. Defined by the library isthmus_cpu_host, which plugins and tests that call
// this link: isthmus_plugin(acme isthmus_acme isthmus_cpu_host).
const HostFunctionProvider& linkedHostFunctions();

// ---- Collectives by the devices -----------------------------------------------------------------

// What each device of a group takes part in, operand by operand.
struct DeviceCollective {
  enum class Kind { kAllReduce, kReduceScatter, kAllGather, kAllToAll, kPermute };
  Kind kind = Kind::kAllReduce;
  ReductionKind reduction = ReductionKind::kSum;  // of the first two
  ElementType type = ElementType::kF32;
  // Of the input; of reductions that are scattered, and of all-to-all, of one rank's block of it.
  int64_t elements = 0;
  // Of a permutation: whose input becomes the output of each rank, or -1: it becomes zero.
  std::span<const int64_t> sources;
};

// Collectives by the devices of an asynchronous backend themselves, instead of by the host (which
// describes them: there is a HostFunctionProvider too). What they compute is as Collectives
// (run_services.h) says.
class DeviceCollectives {
 public:
  virtual ~DeviceCollectives() = default;
  // Whether these devices, by their global ids, can do this; asked on each of them, with the same
  // answer. False: the host does it.
  virtual bool supports(std::span<const int64_t> group,
                        const DeviceCollective& collective) const = 0;
  // Hands over the part of device `call.deviceId`, and does not block. The event happens when the
  // output is written and the input not needed any more; they are one place, or do not overlap.
  // What is referred to is only read during the call. All devices of a group come to the
  // collectives of a launch in one order, each by one thread at a time, and to launches in one
  // order. A device that fails never comes: onAbort of the services' Collectives tells the others.
  // If what one of them waits for has failed, the events of all end all the same.
  virtual StatusOr<DeviceEventRef> enqueue(const CollectiveCall& call, RunServices& services,
                                           const DeviceCollective& collective, DevicePlace input,
                                           DevicePlace output, DeviceEvents after) = 0;
};

// ---- Streams that others know -------------------------------------------------------------------

// For arrays shared with other libraries of the platform in its memory (DLPack).
class ExternalStreams {
 public:
  virtual ~ExternalStreams() = default;
  // The stream that they let wait for their work before they hand it over, as they know it.
  virtual intptr_t stream() = 0;
  // Blocks until what others have enqueued on one of their streams is done; 0: the default one.
  virtual Status await(intptr_t stream) = 0;
};

}  // namespace isthmus
