// Allocation and release of storage.
#include "runtime/memory/storage.h"

#include <algorithm>
#include <utility>

#include "runtime/device/device_work.h"

namespace isthmus {

Storage::Storage(Memory& memory, void* data, size_t bytes, bool owned, bool writable)
    : memory_(memory), data_(data), bytes_(bytes), owned_(owned), writable_(writable) {}

StatusOr<Ref<Storage>> Storage::allocate(Memory& memory, size_t bytes, const BlockOrigin& origin) {
  if (memory.queue() == nullptr) {
    ISTHMUS_ASSIGN_OR_RETURN(void* data, memory.allocate(bytes, origin, nullptr));
    return Ref<Storage>::adopt(new Storage(memory, data, bytes, true, true));
  }
  DeviceEventRef available;
  ISTHMUS_ASSIGN_OR_RETURN(void* data, memory.allocate(bytes, origin, &available));
  auto storage = Ref<Storage>::adopt(new Storage(memory, data, bytes, true, true));
  storage->uses_ = std::make_unique<Uses>();
  storage->addUse(available);
  return storage;
}

Ref<Storage> Storage::foreign(Memory& memory, void* data, size_t bytes, bool writable,
                              std::function<void()> onRelease) {
  auto storage = Ref<Storage>::adopt(new Storage(memory, data, bytes, false, writable));
  storage->onRelease_ = std::move(onRelease);
  if (memory.queue() != nullptr) storage->uses_ = std::make_unique<Uses>();
  return storage;
}

void Storage::releaseAfterUses() {
  if (owned_) memory_.deallocateListed(data_, bytes_, uses_->events);
  owned_ = false;
  uses_.reset();
}

Storage::~Storage() {
  if (uses_ != nullptr) [[unlikely]]
    releaseAfterUses();
  if (owned_) memory_.deallocate(data_, bytes_);
  if (onRelease_) onRelease_();
}

void Storage::addUse(const DeviceEventRef& event) {
  if (event == nullptr) return;
  // Few uses are in flight at a time, but a parameter may be used for ever.
  constexpr size_t kMany = 8;
  std::lock_guard lock(uses_->mutex);
  if (uses_->events.size() >= kMany) {
    std::erase_if(uses_->events, [](const DeviceEventRef& use) { return use->isReady(); });
  }
  addDependency(uses_->events, event);
}

void Storage::addUsesTo(std::vector<DeviceEventRef>& after) const {
  std::lock_guard lock(uses_->mutex);
  for (const DeviceEventRef& use : uses_->events) {
    if (!use->isReady()) addDependency(after, use);
  }
}

}  // namespace isthmus
