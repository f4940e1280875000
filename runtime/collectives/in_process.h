// Collectives among the devices of one process, by shared memory.
//
// Participants of a collective meet in a rendezvous found by launch, channel and group. Each brings
// the addresses of its input and output; when all are there, each does its share of the copying or
// reducing straight from the others' inputs, and none leaves before all are done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "isthmus/status.h"
#include "runtime/run_services.h"

namespace isthmus {

// One per client. Launches are known by id from their first collective on, until all
// its participants have left.
class InProcessCollectives final : public Collectives {
 public:
  InProcessCollectives();
  ~InProcessCollectives() override;

  Status allReduce(const CollectiveCall& call, ReductionKind kind, ElementType type,
                   int64_t elements, const void* input, void* output) override;
  Status reduceScatter(const CollectiveCall& call, ReductionKind kind, ElementType type,
                       int64_t elements, const void* input, void* output) override;
  Status allGather(const CollectiveCall& call, size_t bytes, const void* input,
                   void* output) override;
  Status allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                  void* output) override;
  Status permute(const CollectiveCall& call, int64_t source, size_t bytes, const void* input,
                 void* output) override;

  // Makes every collective of the launch, waiting or to come, fail with `error`.
  void abortLaunch(int64_t launchId, const Status& error);
  // One participant is done with the launch, which is forgotten when all are.
  void leaveLaunch(int64_t launchId, int participants);

 private:
  class Rendezvous;
  struct Part;
  struct Key;
  struct Launch;

  // Meets the others, calls `work(parts, rank)` when all are there, and waits until all have done
  // theirs.
  template <typename Work>
  Status meet(const CollectiveCall& call, const Part& mine, Work&& work);

  std::mutex mutex_;
  std::map<int64_t, Launch> launches_;
};

}  // namespace isthmus
