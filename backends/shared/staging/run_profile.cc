#include "backends/shared/staging/run_profile.h"

#include <algorithm>

namespace isthmus {

RunProfile::RunProfile(std::shared_ptr<const ProgramEvents> events, int device)
    : events_(std::move(events)) {
  whole_.info = &events_->run;
  whole_.track = trace::Track::kRun;
  whole_.device = device;
  whole_.run = trace::nextRun();
  whole_.beginNs = trace::now();
}

trace::Event RunProfile::eventOf(int32_t step, int64_t beginNs, int64_t endNs) const {
  trace::Event event = whole_;
  event.info = &events_->steps[static_cast<size_t>(step)];
  event.track = trace::Track::kStep;
  event.beginNs = beginNs;
  event.endNs = endNs;
  return event;
}

void RunProfile::addCommand(int32_t step, bool continuesOperation, int64_t beginNs, int64_t endNs) {
  if (step < 0) return;
  shiftNs_ = std::min(shiftNs_, trace::now() - endNs);
  trace::Event event = eventOf(step, beginNs, endNs);
  if (continuesOperation && !commands_.empty() && commands_.back().info == event.info) {
    commands_.back().endNs += endNs - beginNs;
  } else {
    commands_.push_back(event);
  }
}

void RunProfile::addHostCall(int32_t step, int64_t beginNs, int64_t endNs) {
  if (step >= 0) hostCalls_.push_back(eventOf(step, beginNs, endNs));
}

void RunProfile::record() {
  whole_.endNs = trace::now();
  for (trace::Event& event : commands_) {
    event.beginNs = std::max(event.beginNs + shiftNs_, whole_.beginNs);
    event.endNs = std::max(event.endNs + shiftNs_, event.beginNs);
  }
  commands_.insert(commands_.end(), hostCalls_.begin(), hostCalls_.end());
  // As viewers draw them, and as the runs of a program are told apart.
  std::sort(commands_.begin(), commands_.end(),
            [](const auto& a, const auto& b) { return a.beginNs < b.beginNs; });
  commands_.push_back(whole_);
  trace::record(commands_, events_);
}

}  // namespace isthmus
