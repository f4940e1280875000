// Collectives among devices: by shared memory in one process, and over the wire between several.
//
// Participants of a collective meet in a rendezvous found by launch, channel and group. Each brings
// the addresses of its input and output; when all of this process are there, each does its share of
// the copying or reducing straight from the others' inputs, and that of who has set out and is not
// back; none leaves before all are done. Of a group that spans processes, the first rank of each
// speaks with the other processes in between.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "isthmus/run_services.h"
#include "isthmus/status.h"
#include "runtime/collectives/wire.h"
#include "runtime/event.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus {

// One per client. Launches are known by id from their first collective on, until all
// its participants have left.
class InProcessCollectives final : public Collectives {
 public:
  // `job` is null where there is one process, and outlives this.
  explicit InProcessCollectives(Job* job = nullptr);
  ~InProcessCollectives() override;

  Status allReduce(const CollectiveCall& call, ReductionKind kind, ElementType type,
                   int64_t elements, const void* input, void* output) override;
  Status reduceScatter(const CollectiveCall& call, ReductionKind kind, ElementType type,
                       int64_t elements, const void* input, void* output) override;
  Status allGather(const CollectiveCall& call, size_t bytes, const void* input,
                   void* output) override;
  Status allToAll(const CollectiveCall& call, size_t bytes, const void* input,
                  void* output) override;
  Status permute(const CollectiveCall& call, std::span<const int64_t> sources, size_t bytes,
                 const void* input, void* output) override;

  void abort(int64_t launchId, const Status& error) override { abortLaunch(launchId, error); }
  void announce(int64_t launchId, int deviceId, const char* what) override;
  void onAbort(int64_t launchId, int deviceId, std::function<void(const Status&)> tell) override;

  // Makes what the other functions keep of a launch, so that its end needs no memory. Before the
  // launch; as often as somebody likes. More participants of this process than it has threads do
  // not wait busily for each other.
  void prepareLaunch(int64_t launchId, int participants);
  // How many launches are kept: those that have not ended on all of their devices.
  size_t numLaunches();
  // Makes every collective of the launch, waiting or to come, fail with `error`.
  void abortLaunch(int64_t launchId, const Status& error);
  // One participant is done with the launch, which is forgotten when all are.
  void leaveLaunch(int64_t launchId, int participants, int deviceId);

 private:
  class Rendezvous;
  class Announcements;
  using Part = CollectivePart;
  struct Key;
  struct Launch;
  struct Participant;

  // Meets the others of this process.
  StatusOr<Participant> arrive(const CollectiveCall& call, const Part& mine, size_t partialBytes,
                               bool isByLast);
  static size_t blocksPerRank(const Part& part, size_t ranks);
  // Meets the others, calls `work(participant)` when all are there, and waits until all have done
  // theirs, at once or later; so the functions keep what they need. In a group that spans
  // processes, before that, one participant calls `speak(wire, participant)`; with `partialBytes`,
  // all call `prepare(participant)` before, which may fill that much memory.
  template <typename Work, typename Speak, typename Prepare>
  Status meet(const CollectiveCall& call, const Part& mine, Work work, Speak speak,
              size_t partialBytes, Prepare prepare);
  template <typename Work, typename Speak>
  Status meet(const CollectiveCall& call, const Part& mine, Work work, Speak speak);
  template <typename Work, typename Speak, typename Prepare>
  Status meetOverWire(const CollectiveCall& call, const Part& mine, Work work, Speak speak,
                      size_t partialBytes, Prepare prepare);
  template <typename Rest>
  static Status nowOrLater(const CollectiveCall& call, Rest rest);
  Status waitForAll(const Participant& participant, const CollectiveCall& call);

  bool spansProcesses(const CollectiveCall& call) const;
  bool needsPartial(const CollectiveCall& call, size_t bytes) const;
  // Calls `outputs(block, offset, bytes)` with each piece of this participant's share.
  template <typename Outputs>
  static void reduceShare(const Participant& participant, ReductionKind kind, ElementType type,
                          int64_t elements, Outputs&& outputs);

  Job* job_;
  const std::unique_ptr<Announcements> announcements_;
  ForkMutex mutex_{ForkMutex::Rank::kMiddle};
  std::map<int64_t, Launch> launches_;
};

}  // namespace isthmus
