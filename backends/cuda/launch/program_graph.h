// A program as a CUDA graph on one device, brought to the addresses of each run.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/cuda/driver/driver.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// For programs of launches and copies, in an order that never changes. The second run makes the
// graph (programs that run once would pay for nothing); later ones change those nodes whose
// addresses are others, such as results', and launch it. A program whose graph the driver cannot
// make or launch, as where memory is short, goes to the compute stream from then on. Thread-safe;
// one run at a time.
class ProgramGraph {
 public:
  // Where the launches and copies of a run go: to the compute stream, or into nodes.
  class Target {
   public:
    virtual ~Target() = default;
    // As Driver's.
    virtual Status launch(CUfunction kernel, int64_t blocks, unsigned threads,
                          std::span<void* const> arguments) = 0;
    virtual Status copy(void* to, const void* from, size_t bytes) = 0;
  };

  ProgramGraph(Driver& driver, int device) : driver_(driver), device_(device) {}
  ~ProgramGraph();

  Status run(const std::function<Status(Target&)>& enqueue);
  // How many runs were launches of the graph, and how many of its nodes were changed.
  int64_t replays() const;
  int64_t updates() const;

 private:
  class Stream;
  class Builder;
  class Updater;
  // A launch, of `arguments`, or a copy, whose addresses they are: `to`, then `from`.
  struct Node {
    CUgraphNode handle = nullptr;  // null: of a step that does nothing
    std::vector<void*> arguments;
  };
  struct Graph {
    std::unique_ptr<DeviceGraph> graph;
    std::vector<Node> nodes;
  };

  Status build(const std::function<Status(Target&)>& enqueue);
  // Without the graph, for good if that goes well; `reason`: what is wrong with it.
  Status runWithout(const Status& reason, const std::function<Status(Target&)>& enqueue);

  Driver& driver_;
  int device_;
  mutable std::mutex mutex_;
  bool hasRun_ = false, isRefused_ = false;
  Graph graph_;
  int64_t replays_ = 0, updates_ = 0;
};

}  // namespace isthmus::cuda
