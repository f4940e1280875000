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

  // Runs on the compute stream what `enqueue` puts on the stream that it is given: recorded
  // earlier, recorded now, or as it is. What a library refuses to have recorded is not recorded
  // again.
  Status run(const Addresses& addresses, const std::function<Status(Queue)>& enqueue);
  // How many runs were launches of a graph.
  int64_t replays() const;

 private:
  static constexpr size_t kMaxGraphs = 8;
  struct Entry {
    Addresses addresses;
    std::unique_ptr<DeviceGraph> graph;  // null: seen once
  };

  Driver& driver_;
  int device_;
  mutable std::mutex mutex_;
  bool isRefused_ = false;
  std::list<Entry> entries_;  // the one used last comes first
  int64_t replays_ = 0;
};

}  // namespace isthmus::cuda
