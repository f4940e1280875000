#include "backends/cuda/launch/graph_cache.h"

#include <algorithm>

#include "isthmus/log.h"

namespace isthmus::cuda {

Status GraphCache::run(const Addresses& addresses, const std::function<Status(Queue)>& enqueue) {
  std::lock_guard lock(mutex_);
  auto it = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.addresses == addresses; });
  if (it == entries_.end()) {
    entries_.push_front({addresses, nullptr});
    if (entries_.size() > kMaxGraphs) entries_.pop_back();
    return enqueue(Queue::kCompute);
  }
  entries_.splice(entries_.begin(), entries_, it);
  if (!it->graph && !isRefused_) {
    auto recorded = driver_.recordGraph(device_, [&] { return enqueue(Queue::kRecording); });
    if (recorded.ok()) {
      it->graph = *std::move(recorded);
    } else {
      isRefused_ = true;
      log(LogLevel::kInfo, "a program is launched step by step, since it could not be recorded: ",
          recorded.status().message());
    }
  }
  if (!it->graph) return enqueue(Queue::kCompute);
  Status status = driver_.launchGraph(device_, Queue::kCompute, *it->graph);
  if (status.code() == StatusCode::kResourceExhausted) {
    // Graphs take memory, which there is less of than when this one was made.
    it->graph = nullptr;
    isRefused_ = true;
    return enqueue(Queue::kCompute);
  }
  ++replays_;
  return status;
}

int64_t GraphCache::replays() const {
  std::lock_guard lock(mutex_);
  return replays_;
}

}  // namespace isthmus::cuda
