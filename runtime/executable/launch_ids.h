// Numbers of launches that all who take part in one give it, without asking each other.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/stable_hash.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus {

// Counts the launches of one program by device: the n-th on one device meets the n-th on the
// others, whichever compilation of the program and whichever process it is launched from.
class LaunchCounts {
 public:
  LaunchCounts(uint64_t program, size_t numDevices) : program_(program), counts_(numDevices) {}

  // Of the next launch on the `device`-th device. `tag` tells apart launches that the caller does.
  int64_t next(size_t device, int64_t tag = 0) {
    int64_t count = counts_[device].fetch_add(1, std::memory_order_relaxed);
    uint64_t id = combineHashes(combineHashes(program_, static_cast<uint64_t>(tag)),
                                static_cast<uint64_t>(count));
    return static_cast<int64_t>(id >> 2);
  }
  // True for the first caller only.
  bool isFirst() { return !isKnown_.exchange(true, std::memory_order_relaxed); }
  // Of the next launch on all devices.
  int64_t nextOnAll() {
    int64_t id = next(0);
    for (size_t device = 1; device < counts_.size(); ++device) (void)next(device);
    return id;
  }

 private:
  const uint64_t program_;
  std::atomic<bool> isKnown_{false};
  std::vector<std::atomic<int64_t>> counts_;
};

// All programs of a client. A program that is compiled again goes on with the count that it had, as
// long as an executable of it or a launch is there; over several processes for ever, since others
// may still have one.
class LaunchIds {
 public:
  // `program` is the same number in all processes.
  std::shared_ptr<LaunchCounts> of(uint64_t program, size_t numDevices, bool isOverProcesses) {
    std::lock_guard lock(mutex_);
    if (counts_.size() >= sweepAt_) {
      std::erase_if(counts_, [](const auto& entry) { return entry.second.expired(); });
      sweepAt_ = std::max(kMinSweep, 2 * counts_.size());
    }
    std::weak_ptr<LaunchCounts>& known = counts_[{program, numDevices}];
    std::shared_ptr<LaunchCounts> counts = known.lock();
    if (counts == nullptr) {
      counts = std::make_shared<LaunchCounts>(program, numDevices);
      known = counts;
      if (isOverProcesses) kept_.push_back(counts);
    }
    return counts;
  }
  // How many programs are remembered.
  size_t size() {
    std::lock_guard lock(mutex_);
    return counts_.size();
  }

 private:
  static constexpr size_t kMinSweep = 64;
  ForkMutex mutex_;
  std::map<std::pair<uint64_t, size_t>, std::weak_ptr<LaunchCounts>> counts_;
  std::vector<std::shared_ptr<LaunchCounts>> kept_;
  size_t sweepAt_ = kMinSweep;
};

}  // namespace isthmus
