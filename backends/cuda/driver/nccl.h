// NCCL: collectives among GPUs, in a library that is loaded where it is there. Never run on
// GPUs yet: one at a time was at hand.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// By the numbers of ncclDataType_t and ncclRedOp_t.
enum class NcclType : int {
  kS8 = 0,
  kU8 = 1,
  kS32 = 2,
  kU32 = 3,
  kS64 = 4,
  kU64 = 5,
  kF16 = 6,
  kF32 = 7,
  kF64 = 8,
  kBf16 = 9
};
enum class NcclReduction : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3 };

struct NcclFunctions;

// Some devices that may meet. One that failed stays so; the next launch gets another.
class NcclGroup {
 public:
  explicit NcclGroup(std::vector<int64_t> devices)
      : devices_(std::move(devices)), calling_(devices_.size(), 0) {}

  size_t ranks() const { return devices_.size(); }
  // What ended all collectives of the group, if anything did.
  Status failure() const;

 private:
  friend class Nccl;
  std::vector<int64_t> devices_;
  std::vector<void*> communicators_;  // by rank
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<int> calling_;       // by rank: calls of NCCL under way
  std::vector<int64_t> launches_;  // the newest that met here
  Status failure_;
};

// A run of a program on one device that takes part in collectives.
class NcclRun {
 public:
  // What ended a collective of the run before it was done, if anything did.
  Status failure() const;

 private:
  friend class Nccl;
  mutable std::mutex mutex_;
  Status failure_;
};

// One device's part in the collectives of one launch.
struct NcclPart {
  std::shared_ptr<NcclGroup> group;
  std::shared_ptr<NcclRun> run;
  int rank = 0;
  int device = 0;
  int64_t launchId = 0;
  Queue queue = Queue::kCompute;
  std::string description;  // the operation and its source position
  // What another part of the launch failed with, if one did. Outlives the part's launch.
  std::function<Status()> abortedBy;
};

// Collectives are enqueued on a device's queue; a thread looks after those under way. What fails
// (one device's call, what NCCL finds out later, another part of the launch) or waits longer than
// `timeoutSeconds` for the others (0: never) ends all collectives of its group, on all its devices.
// All devices must enqueue the same collectives of a group in the same order, each device from a
// thread of its own: the first ones block until the others are there.
class Nccl {
 public:
  // Loads `path`. kNotFound if there is no such library, or it lacks a function.
  static StatusOr<std::unique_ptr<Nccl>> load(const std::string& path, Driver& driver,
                                              double timeoutSeconds);
  ~Nccl();

  // Whether these are several devices, each a GPU of its own: NCCL takes none twice.
  bool canMeet(std::span<const int64_t> devices) const;
  // The group of these devices in this order; made when it is first asked for, which takes seconds.
  // What a launch's group failed with is what it fails with on its other devices as well.
  StatusOr<std::shared_ptr<NcclGroup>> group(const std::vector<int64_t>& devices, int64_t launchId);

  // Input and output may be the same memory.
  Status allReduce(const NcclPart& part, NcclType type, NcclReduction reduction, size_t elements,
                   const void* input, void* output);
  // The input has `elements` elements per rank; rank r gets the reduction of block r.
  Status reduceScatter(const NcclPart& part, NcclType type, NcclReduction reduction,
                       size_t elements, const void* input, void* output);
  // Rank r's `bytes` bytes land at output + r * bytes of everybody.
  Status allGather(const NcclPart& part, size_t bytes, const void* input, void* output);
  // Block r of everybody's input, each `bytes` long, lands at rank r in the order of the senders.
  Status allToAll(const NcclPart& part, size_t bytes, const void* input, void* output);
  // Rank r's output becomes the input of rank sources[r], or zero if that is -1.
  Status permute(const NcclPart& part, std::span<const int64_t> sources, size_t bytes,
                 const void* input, void* output);

 private:
  struct Waiting {
    NcclPart part;
    DeviceEvent begin, end;  // `end` is empty while NCCL is being called
    bool hasBegun = false;
    double begunSeconds = 0;
  };
  // The groups of one list of devices.
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<NcclGroup> current, failed;
  };

  Nccl(std::unique_ptr<NcclFunctions> functions, Driver& driver, double timeoutSeconds);
  Status check(int code, const char* call) const;
  // Calls `enqueue(communicator, stream)`, which calls NCCL.
  Status run(const NcclPart& part, const std::function<Status(void*, CUstream)>& enqueue);
  Status call(const NcclPart& part, const std::function<Status(void*, CUstream)>& enqueue);
  // Between ncclGroupStart and ncclGroupEnd.
  Status inGroup(const std::function<Status()>& calls);
  void fail(const std::shared_ptr<NcclGroup>& group, const Status& status);
  // The error that ends a waiting collective, if there is one. Sets `isOver` if it is done.
  Status look(Waiting& waiting, bool& isOver);
  void watch();

  std::unique_ptr<NcclFunctions> functions_;
  Driver& driver_;
  double timeoutSeconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<int64_t>, std::shared_ptr<Slot>> slots_;
  std::list<std::shared_ptr<Waiting>> waiting_;
  bool isEnding_ = false;
  std::thread watcher_;
};

}  // namespace isthmus::cuda
