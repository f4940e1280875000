// Recorded runs of one program on one device, by the addresses that they are for.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// A program is recorded when it meets the same addresses for the second time: recording costs about
// as much as several launches, and programs whose addresses never come back would pay for nothing.
// Thread-safe; runs of one cache are one at a time.
class GraphCache {
 public:
  using Addresses = std::vector<const void*>;

  GraphCache(Driver& driver, int device) : driver_(driver), device_(device) {}

  // Runs what `enqueue` puts on the compute stream: recorded earlier, being recorded, or as it is.
  Status run(const Addresses& addresses, const std::function<Status()>& enqueue);
  // How many runs were launches of a graph.
  int64_t replays() const;

 private:
  static constexpr size_t kMaxGraphs = 8;
  struct Entry {
    Addresses addresses;
    std::unique_ptr<DeviceGraph> graph;  // null: seen once
  };

  StatusOr<std::unique_ptr<DeviceGraph>> record(const std::function<Status()>& enqueue);

  Driver& driver_;
  int device_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last comes first
  int64_t replays_ = 0;
};

}  // namespace isthmus::cuda
