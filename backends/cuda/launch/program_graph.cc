#include "backends/cuda/launch/program_graph.h"

#include <algorithm>
#include <utility>

#include "isthmus/log.h"

namespace isthmus::cuda {

class ProgramGraph::Stream final : public Target {
 public:
  explicit Stream(ProgramGraph& owner) : driver_(owner.driver_), device_(owner.device_) {}
  Status launch(CUfunction kernel, int64_t blocks, unsigned threads,
                std::span<void* const> arguments) override {
    return driver_.launch(device_, Queue::kCompute, kernel, blocks, threads, arguments);
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    return driver_.copy(device_, Queue::kCompute, to, from, bytes);
  }

 private:
  Driver& driver_;
  int device_;
};

// Adds nodes, each after the one before.
class ProgramGraph::Builder final : public Target {
 public:
  Builder(ProgramGraph& owner, GraphTemplate& graph) : owner_(owner), graph_(graph) {}
  Status launch(CUfunction kernel, int64_t blocks, unsigned threads,
                std::span<void* const> arguments) override {
    Node node{nullptr, {arguments.begin(), arguments.end()}};
    if (blocks > 0) {
      ISTHMUS_ASSIGN_OR_RETURN(
          node.handle, owner_.driver_.addLaunch(graph_, last_, kernel, blocks, threads, arguments));
    }
    return add(std::move(node));
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    Node node{nullptr, {to, const_cast<void*>(from)}};
    if (bytes > 0 && to != from) {
      ISTHMUS_ASSIGN_OR_RETURN(node.handle, owner_.driver_.addCopy(graph_, last_, to, from, bytes));
    }
    return add(std::move(node));
  }
  std::vector<Node> nodes() { return std::move(nodes_); }

 private:
  Status add(Node node) {
    if (node.handle) last_ = node.handle;
    nodes_.push_back(std::move(node));
    return {};
  }

  ProgramGraph& owner_;
  GraphTemplate& graph_;
  CUgraphNode last_ = nullptr;
  std::vector<Node> nodes_;
};

// Changes the nodes whose addresses are others, in their order.
class ProgramGraph::Updater final : public Target {
 public:
  explicit Updater(ProgramGraph& owner) : owner_(owner) {}
  Status launch(CUfunction kernel, int64_t blocks, unsigned threads,
                std::span<void* const> arguments) override {
    Node& node = owner_.graph_.nodes[next_++];
    if (!node.handle || std::ranges::equal(arguments, node.arguments)) return {};
    node.arguments.assign(arguments.begin(), arguments.end());
    ++owner_.updates_;
    return owner_.driver_.updateLaunch(*owner_.graph_.graph, node.handle, kernel, blocks, threads,
                                       arguments);
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    Node& node = owner_.graph_.nodes[next_++];
    if (node.arguments[0] == to && node.arguments[1] == from) return {};
    // Whether there is something to copy may change with aliases, but the number of nodes cannot.
    isOther_ |= (node.handle == nullptr) != (bytes == 0 || to == from);
    if (isOther_) return {};
    node.arguments = {to, const_cast<void*>(from)};
    if (!node.handle) return {};
    ++owner_.updates_;
    return owner_.driver_.updateCopy(*owner_.graph_.graph, node.handle, to, from, bytes);
  }
  // The graph is of no use to this run.
  bool isOther() const { return isOther_; }

 private:
  ProgramGraph& owner_;
  size_t next_ = 0;
  bool isOther_ = false;
};

ProgramGraph::~ProgramGraph() = default;

Status ProgramGraph::build(const std::function<Status(Target&)>& enqueue) {
  graph_ = {};
  ISTHMUS_ASSIGN_OR_RETURN(GraphTemplate made, driver_.createGraph(device_));
  Builder builder(*this, made);
  ISTHMUS_RETURN_IF_ERROR(enqueue(builder));
  ISTHMUS_ASSIGN_OR_RETURN(graph_.graph, driver_.instantiate(std::move(made)));
  graph_.nodes = builder.nodes();
  return {};
}

Status ProgramGraph::run(const std::function<Status(Target&)>& enqueue) {
  std::lock_guard lock(mutex_);
  if (!std::exchange(hasRun_, true) || isRefused_) {
    Stream stream(*this);
    return enqueue(stream);
  }
  bool isBuilt = graph_.graph != nullptr;
  if (isBuilt) {
    Updater updater(*this);
    Status status = enqueue(updater);
    isBuilt = status.ok() && !updater.isOther();
    // Nodes of both runs: nobody may launch it.
    if (!status.ok()) graph_ = {};
    ISTHMUS_RETURN_IF_ERROR(status);
  }
  if (!isBuilt) {
    if (Status status = build(enqueue); !status.ok()) return runWithout(status, enqueue);
  }
  Status status = driver_.launchGraph(device_, Queue::kCompute, *graph_.graph);
  if (status.code() == StatusCode::kResourceExhausted) return runWithout(status, enqueue);
  ++replays_;
  return status;
}

Status ProgramGraph::runWithout(const Status& reason,
                                const std::function<Status(Target&)>& enqueue) {
  graph_ = {};
  Stream stream(*this);
  ISTHMUS_RETURN_IF_ERROR(enqueue(stream));
  isRefused_ = true;
  log(LogLevel::kInfo,
      "a program is launched step by step, since it could not be a graph: ", reason.message());
  return {};
}

int64_t ProgramGraph::replays() const {
  std::lock_guard lock(mutex_);
  return replays_;
}

int64_t ProgramGraph::updates() const {
  std::lock_guard lock(mutex_);
  return updates_;
}

}  // namespace isthmus::cuda
