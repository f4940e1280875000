#include "backends/cuda/graph_cache.h"

#include <algorithm>

namespace isthmus::cuda {

StatusOr<std::unique_ptr<DeviceGraph>> GraphCache::record(const std::function<Status()>& enqueue) {
  ISTHMUS_RETURN_IF_ERROR(driver_.beginCapture(device_, Queue::kCompute));
  Status status = enqueue();
  // Even after an error: the stream must not stay in capture.
  StatusOr<std::unique_ptr<DeviceGraph>> graph = driver_.endCapture(device_, Queue::kCompute);
  ISTHMUS_RETURN_IF_ERROR(status);
  return graph;
}

Status GraphCache::run(const Addresses& addresses, const std::function<Status()>& enqueue) {
  std::lock_guard lock(mutex_);
  auto it = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.addresses == addresses; });
  if (it == entries_.end()) {
    entries_.push_front({addresses, nullptr});
    if (entries_.size() > kMaxGraphs) entries_.pop_back();
    return enqueue();
  }
  entries_.splice(entries_.begin(), entries_, it);
  if (!it->graph) {
    ISTHMUS_ASSIGN_OR_RETURN(it->graph, record(enqueue));
  }
  ++replays_;
  return driver_.launchGraph(device_, Queue::kCompute, *it->graph);
}

int64_t GraphCache::replays() const {
  std::lock_guard lock(mutex_);
  return replays_;
}

}  // namespace isthmus::cuda
