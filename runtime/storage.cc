// Allocation and release of storage.
#include "runtime/storage.h"

#include <utility>

namespace isthmus {

Storage::Storage(Memory& memory, void* data, size_t bytes, bool owned, bool writable)
    : memory_(memory), data_(data), bytes_(bytes), owned_(owned), writable_(writable) {}

StatusOr<Ref<Storage>> Storage::allocate(Memory& memory, size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(void* data, memory.allocate(bytes));
  return Ref<Storage>::adopt(new Storage(memory, data, bytes, true, true));
}

Ref<Storage> Storage::foreign(Memory& memory, void* data, size_t bytes, bool writable,
                              std::function<void()> onRelease) {
  auto storage = Ref<Storage>::adopt(new Storage(memory, data, bytes, false, writable));
  storage->onRelease_ = std::move(onRelease);
  return storage;
}

Storage::~Storage() {
  if (owned_) memory_.deallocate(data_, bytes_);
  if (onRelease_) onRelease_();
}

}  // namespace isthmus
