#include "backends/cpu/load/collectives_in_flight.h"

#include "isthmus/out_of_memory.h"

namespace isthmus::cpu {

CollectiveInFlight::~CollectiveInFlight() {
  for (const Block& block : blocks_) services_.freeScratch(block.data, block.bytes);
}

char* CollectiveInFlight::allocate(size_t bytes) {
  blocks_.reserve(blocks_.size() + 1);
  auto* data = static_cast<char*>(services_.allocateScratch(bytes));
  if (data != nullptr) blocks_.push_back({data, bytes});
  return data;
}

Status CollectiveInFlight::finish() {
  Status first;
  for (std::function<Status()>& step : steps) {
    Status status;
    try {
      status = step();
    } catch (...) {
      status = outOfHostMemory();
    }
    if (first.ok() && !status.ok()) first = std::move(status);
  }
  steps.clear();
  return first;
}

// Nothing is left, unless an exception ended the run.
CollectivesInFlight::~CollectivesInFlight() { abandon(outOfHostMemory()); }

void CollectivesInFlight::abandon(const Status& status) {
  if (all.empty()) return;
  request_.services->collectives().abort(request_.launchId, status);
  for (auto& [number, collective] : all) (void)collective->finish();
  all.clear();
}

}  // namespace isthmus::cpu
