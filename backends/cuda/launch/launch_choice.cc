#include "backends/cuda/launch/launch_choice.h"

#include <algorithm>
#include <utility>

namespace isthmus::cuda {
namespace {

// Of each way: the first graph is made during one of them.
constexpr int kSamples = 4;

}  // namespace

std::optional<bool> LaunchChoice::takesGraph() const {
  std::lock_guard lock(mutex_);
  return chosen();
}

std::optional<bool> LaunchChoice::chosen() const {
  if (counts_[kGraph] < kSamples) return std::nullopt;
  return bestNs_[kGraph] <= bestNs_[kSteps];
}

void LaunchChoice::note() {
  if (!sample_) return;
  StatusOr<bool> isDone = driver_.isDone(device_, sample_->end);
  if (isDone.ok() && !*isDone) return;
  const Sample sample = *std::exchange(sample_, std::nullopt);
  isTiming_ = false;
  if (!isDone.ok()) return;
  StatusOr<int64_t> ns = driver_.elapsedNs(device_, sample.begin, sample.end);
  if (!ns.ok()) return;
  bestNs_[sample.way] = std::min(bestNs_[sample.way], *ns);
  ++counts_[sample.way];
}

Status LaunchChoice::time(Way way, const std::function<StatusOr<bool>()>& run) {
  StatusOr<DeviceEvent> begin = driver_.recordTimed(device_, Queue::kCompute);
  StatusOr<bool> isOfWay = run();
  StatusOr<DeviceEvent> end = driver_.recordTimed(device_, Queue::kCompute);
  std::lock_guard lock(mutex_);
  if (begin.ok() && end.ok() && isOfWay.ok() && *isOfWay) {
    sample_ = Sample{way, *std::move(begin), *std::move(end)};
  } else {
    isTiming_ = false;
  }
  return isOfWay.status();
}

Status LaunchChoice::run(const std::function<Status()>& steps,
                         const std::function<StatusOr<bool>()>& graph) {
  Way way = kSteps;
  bool isTimed = false;
  {
    std::lock_guard lock(mutex_);
    note();
    if (std::optional<bool> isGraph = chosen()) {
      way = *isGraph ? kGraph : kSteps;
    } else {
      way = counts_[kSteps] < kSamples ? kSteps : kGraph;
      // The first run loads what it launches.
      isTimed = std::exchange(hasRun_, true) && !isTiming_;
      if (isTimed) isTiming_ = true;
    }
  }
  auto ofWay = [&]() -> StatusOr<bool> {
    if (way == kGraph) return graph();
    ISTHMUS_RETURN_IF_ERROR(steps());
    return true;
  };
  return isTimed ? time(way, ofWay) : ofWay().status();
}

}  // namespace isthmus::cuda
