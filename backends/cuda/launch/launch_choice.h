// Whether a program is launched as a graph, or step by step.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// A graph spares the host most of a launch's work, but from kernel to kernel it takes the device
// longer than a stream does. So some of a program's first runs are timed, from where the host
// begins to where the device ends, each way, and the way of the fastest is that of all later runs;
// a graph's if both are equal. Thread-safe.
class LaunchChoice {
 public:
  LaunchChoice(Driver& driver, int device) : driver_(driver), device_(device) {}

  // A run, by one of both: `steps` enqueues each step on the compute stream; `graph` launches a
  // graph, or says that it has enqueued the steps, since there is none yet.
  Status run(const std::function<Status()>& steps, const std::function<StatusOr<bool>()>& graph);

  // Nothing while the runs are being timed.
  std::optional<bool> takesGraph() const;

 private:
  enum Way : uint8_t { kSteps, kGraph, kNumWays };
  struct Sample {
    Way way;
    DeviceEvent begin, end;
  };

  // takesGraph() for who holds the mutex.
  std::optional<bool> chosen() const;
  // Takes the time of the run that is being timed, if it is over.
  void note();
  Status time(Way way, const std::function<StatusOr<bool>()>& run);

  Driver& driver_;
  const int device_;
  mutable std::mutex mutex_;
  bool hasRun_ = false;
  bool isTiming_ = false;  // a run, of which `sample_` will tell
  std::optional<Sample> sample_;
  std::array<int, kNumWays> counts_ = {};
  std::array<int64_t, kNumWays> bestNs_ = {std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::max()};
};

}  // namespace isthmus::cuda
