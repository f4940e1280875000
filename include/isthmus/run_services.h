// What a running program may ask of the runtime: threads, scratch memory and its peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus {

enum class ReductionKind : int32_t { kSum, kProduct, kMin, kMax, kAnd, kOr };

// One participant's part in a collective among the devices of one launch. `group` lists global
// device ids in the order that the operation gives them meaning (their index is their rank);
// `channel` tells apart collectives of one program that could be in flight together.
struct CollectiveCall {
  int64_t launchId = 0;
  int64_t channel = 0;
  int deviceId = 0;
  std::span<const int64_t> group;
  // For error messages: the op and its source location.
  const char* description = "";
  // If there is one, the collective only sets out: what remains to be done when its results are
  // needed is appended, to be called once, by the same thread. Until then `group`, `description`,
  // input and output stay as they are, and nobody writes to or reads from the memory of either. If
  // nothing is appended, the results are there.
  std::vector<std::function<Status()>>* later = nullptr;
};

// Collectives among devices, of one process or several. Each call, unless it only sets out, blocks
// until all of the group have arrived and the results are written; input and output may be the same
// memory. A peer that fails or never comes turns into an error on all others. All of a group get
// the same bits. Called from the threads that run programs, never from pool threads.
class Collectives {
 public:
  virtual ~Collectives() = default;
  // Everybody gets the reduction of all inputs, element by element.
  virtual Status allReduce(const CollectiveCall& call, ReductionKind kind, ElementType type,
                           int64_t elements, const void* input, void* output) = 0;
  // Everybody's input has `elements` elements per rank; rank r gets the reduction of block r.
  virtual Status reduceScatter(const CollectiveCall& call, ReductionKind kind, ElementType type,
                               int64_t elements, const void* input, void* output) = 0;
  // Rank r's `bytes` bytes land at output + r * bytes of everybody.
  virtual Status allGather(const CollectiveCall& call, size_t bytes, const void* input,
                           void* output) = 0;
  // Block r of everybody's input, each `bytes` long, lands at rank r in the order of the senders.
  virtual Status allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                          void* output) = 0;
  // Also a broadcast: rank r's output becomes the input of rank sources[r], or zero if that is -1.
  virtual Status permute(const CollectiveCall& call, std::span<const int64_t> sources, size_t bytes,
                         const void* input, void* output) = 0;

  // Makes every collective of the launch fail that not all have reached yet: for who has set out to
  // some, and finds that it cannot go on.
  virtual void abort(int64_t launchId, const Status& error) {}

  // Code that may take for ever is told before it is called and null afterwards: `what` a device of
  // a launch is at, for the errors of the others. It stays valid meanwhile.
  virtual void announce(int64_t launchId, int deviceId, const char* what) {}

  // When a part of the launch fails, `tell` is called with the error at once, from any thread,
  // whatever the device is at: for backends whose devices meet by themselves. One for each device
  // of a launch, the first of which counts; it is dropped when the device has left. It may be
  // called before this returns, and must not call back.
  virtual void onAbort(int64_t launchId, int deviceId, std::function<void(const Status&)> tell) {}
};

// One per launch and device; used by the thread that runs the program.
class RunServices {
 public:
  using TileFunction = void (*)(void* context, int64_t begin, int64_t end);

  virtual ~RunServices() = default;

  // Threads that parallelFor can use, the caller's included; at least 1.
  virtual int numThreads() const = 0;

  // Calls `function` on disjoint ranges that cover [0, tiles), none smaller than `grain` but the
  // last, on the pool and on the calling thread, and returns when all are done. Ranges of one
  // thread may come in any order. May be nested; a nested call runs on its calling thread.
  virtual void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) = 0;

  // Memory from the pooled host allocator, aligned to kBufferAlignment, null when there is none,
  // and where it is given back to:
  virtual void* allocateScratch(size_t bytes) = 0;
  virtual void freeScratch(void* data, size_t bytes) = 0;

  virtual Collectives& collectives() = 0;  // of the client, for all launches
};

}  // namespace isthmus
