#include "base/memory/program_memory.h"

#include <map>
#include <memory>

namespace isthmus {

ProgramMemory& ProgramMemory::of(const Backend& backend, int deviceId) {
  struct Devices {
    std::mutex mutex;
    std::map<std::pair<const Backend*, int>, std::unique_ptr<ProgramMemory>> all;
  };
  static Devices& devices = *new Devices;
  std::lock_guard lock(devices.mutex);
  std::unique_ptr<ProgramMemory>& one = devices.all[{&backend, deviceId}];
  if (!one) one = std::make_unique<ProgramMemory>();
  return *one;
}

namespace {
thread_local const ProgramMemory::Limits* limitsOfThread = nullptr;
}  // namespace

ProgramMemory::LimitScope::LimitScope(const Limits* limits)
    : before_(std::exchange(limitsOfThread, limits)) {}
ProgramMemory::LimitScope::~LimitScope() { limitsOfThread = before_; }

void ProgramMemory::onShortage(std::function<void()> giveBack) {
  std::lock_guard lock(shortageMutex_);
  onShortage_.push_back(std::move(giveBack));
}

void ProgramMemory::giveBack() {
  std::lock_guard lock(shortageMutex_);
  for (const std::function<void()>& giveBack : onShortage_) giveBack();
}

StatusOr<ProgramMemory::Block> ProgramMemory::add(size_t bytes, std::string what) {
  if (limitsOfThread)
    ISTHMUS_RETURN_IF_ERROR(limitsOfThread->check(*this, bytes).withContext(what));
  Block block;
  std::lock_guard lock(mutex_);
  block.entry_ = entries_.insert(entries_.end(), Entry{bytes, std::move(what)});
  block.memory_ = this;
  bytes_ += static_cast<int64_t>(bytes);
  return block;
}

ProgramMemory::Block::~Block() {
  if (!memory_) return;
  std::lock_guard lock(memory_->mutex_);
  memory_->bytes_ -= static_cast<int64_t>(entry_->bytes);
  memory_->entries_.erase(entry_);
}

std::vector<ProgramMemory::Entry> ProgramMemory::entries() const {
  std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

}  // namespace isthmus
