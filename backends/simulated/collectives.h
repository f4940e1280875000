// Collectives that simulated devices carry out by themselves: the last to come does it for all.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "backends/simulated/backend.h"
#include "isthmus/device_optional.h"

namespace isthmus::simulated {

// Of the devices of one backend, which outlives it. From any thread.
class SimulatedCollectives final : public DeviceCollectives {
 public:
  explicit SimulatedCollectives(const SimulatedBackend& backend) : backend_(backend) {}

  // Reduces f32 and s32 by sums, greatest and least; the rest is the host's.
  bool supports(std::span<const int64_t> group, const DeviceCollective& collective) const override;
  StatusOr<DeviceEventRef> enqueue(const CollectiveCall& call, RunServices& services,
                                   const DeviceCollective& collective, DevicePlace input,
                                   DevicePlace output, DeviceEvents after) override;

  // How many have begun, for tests.
  int64_t begun() const {
    std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  // Launch, channel and group.
  using Key = std::tuple<int64_t, int64_t, std::vector<int64_t>>;
  struct Rendezvous {
    std::vector<char*> inputs, outputs;  // by rank; null: has not come
    std::vector<DeviceEventRef> after;
    std::vector<DeviceEventRef> ends;  // by rank
    size_t arrived = 0;
  };

  void abort(int64_t launchId, const Status& error);

  const SimulatedBackend& backend_;
  mutable std::mutex mutex_;
  // In the order in which they began: a rank comes to the first in which it is not yet.
  std::map<Key, std::list<Rendezvous>> open_;
  std::map<int64_t, Status> aborted_;  // the latest launches that were
  int64_t begun_ = 0;
};

}  // namespace isthmus::simulated
