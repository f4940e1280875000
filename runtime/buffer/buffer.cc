// Holds, deletion and donation of buffers.
#include "runtime/buffer/buffer.h"

#include <utility>

#include "runtime/client.h"

namespace isthmus {

Buffer::Buffer(Memory& memory, std::shared_ptr<const ArrayType> type, Ref<Storage> storage,
               Event definition, bool allocatesLate)
    : client_(&memory.client()),
      memory_(memory),
      type_(std::move(type)),
      sizeBytes_(type_->sizeBytes()),
      definition_(std::move(definition)),
      storage_(storage.detach()),
      allocatesLate_(allocatesLate) {}

Buffer::~Buffer() {
  // Before the client goes, which owns the memory.
  freeStorage();
}

void Buffer::noteAsked() const {
  if (launch_ != 0) device().callerHabit().ask(launch_);
}

Event Buffer::readyEvent() const {
  if (isDeleted()) return Event::of(invalidArgument("buffer has been deleted or donated"));
  noteAsked();
  return definition_;
}

bool Buffer::hold() {
  uint32_t holds = holds_.load(std::memory_order_relaxed);
  while ((holds & kDeleted) == 0) {
    // In one order with what `align` does.
    if (holds_.compare_exchange_weak(holds, holds + 1, std::memory_order_seq_cst,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool Buffer::donate() {
  return (holds_.fetch_or(kDeleted, std::memory_order_acq_rel) & kDeleted) == 0;
}

void Buffer::undoDonate() {
  uint32_t holds = holds_.load(std::memory_order_relaxed);
  while ((holds & kReleased) == 0) {
    if (holds_.compare_exchange_weak(holds, holds & ~kDeleted, std::memory_order_acq_rel)) return;
  }
  dropHold();
}

void Buffer::release() {
  uint32_t before = holds_.fetch_or(kDeleted | kReleased, std::memory_order_acq_rel);
  if ((before & kDeleted) == 0) dropHold();
}

void Buffer::dropHold() {
  uint32_t before = holds_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & (kCount | kWriting)) == 1) freeStorage();
}

void Buffer::endWriting() {
  uint32_t before = holds_.fetch_and(~kWriting, std::memory_order_acq_rel);
  if ((before & kCount) == 0) freeStorage();
}

void Buffer::freeStorage() {
  Storage* storage = storage_.exchange(nullptr, std::memory_order_acq_rel);
  if (storage != nullptr && !isLent_) storage->dropReference();
  readBefore_.reset();
}

void Buffer::countUseInPlace() {
  // Threads that count at once lose count, by no more than makes a copy earlier or later.
  const int8_t left = usesInPlace_.load(std::memory_order_relaxed);
  if (left > 1) {
    usesInPlace_.store(static_cast<int8_t>(left - 1), std::memory_order_relaxed);
  } else if (left == 1) {
    align();
  }
}

void Buffer::align() {
  // The handle's hold and the caller's: no other reader.
  auto isSoleReader = [&] {
    return (holds_.load(std::memory_order_seq_cst) & (kDeleted | kCount)) == 2 &&
           externalReferences_.load(std::memory_order_seq_cst) == 0 &&
           !hasGivenAddress_.load(std::memory_order_seq_cst);
  };
  if (!isSoleReader()) return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || usesInPlace_.load(std::memory_order_relaxed) == 0) return;
  usesInPlace_.store(0, std::memory_order_relaxed);
  Storage* before = storage_.load(std::memory_order_relaxed);
  StatusOr<Ref<Storage>> own =
      Storage::allocate(memory_, sizeBytes_, {type_.get(), "an aligned copy of a host array"});
  if (before == nullptr || !own.ok()) return;  // it stays where it is
  if (!memory_.copyFrom((*own)->data(), memory_, before->data(), sizeBytes_).ok()) return;
  storage_.store(own->detach(), std::memory_order_seq_cst);
  Ref<Storage> read = Ref<Storage>::adopt(before);
  // Who comes from now on finds the copy; somebody may have come meanwhile.
  if (!isSoleReader()) readBefore_ = std::move(read);
  lock.unlock();  // before code of the caller's is told that its memory is free
}

bool Buffer::isExclusive() const {
  if ((holds_.load(std::memory_order_acquire) & kCount) != 1) return false;
  const Storage* storage = storage_.load(std::memory_order_acquire);
  return storage != nullptr && storage->isWritable() && storage->isUnique();
}

bool Buffer::setStorage(Ref<Storage> storage) {
  std::lock_guard lock(mutex_);
  if (storage_.load(std::memory_order_relaxed) != nullptr) return false;
  storage_.store(storage.detach(), std::memory_order_release);
  return true;
}

Status Buffer::addDefinitionTo(std::vector<DeviceEventRef>& after) const {
  if (definition_.isReady()) return definition_.status();
  if (work_) addDependency(after, work_->event());
  return {};
}

StatusOr<Storage*> Buffer::storage() {
  Storage* storage = storage_.load(std::memory_order_seq_cst);
  if (storage != nullptr) return storage;
  if (!allocatesLate_) return internalError("the buffer's memory is not there yet");
  std::lock_guard lock(mutex_);
  storage = storage_.load(std::memory_order_relaxed);
  if (storage != nullptr) return storage;
  Ref<Storage> made;
  if (BufferRef source = std::exchange(aliasSource_, nullptr)) made = source->storageToTakeOver();
  if (!made) {
    BlockOrigin origin{type_.get(), work_ ? work_->describeOutput(output_) : std::string_view()};
    ISTHMUS_ASSIGN_OR_RETURN(made, Storage::allocate(memory_, sizeBytes_, origin));
  }
  storage = made.detach();
  storage_.store(storage, std::memory_order_release);
  if (aliasChain_) aliasChain_->done.store(aliasPosition_, std::memory_order_release);
  return storage;
}

void Buffer::setAliasSource(BufferRef source) {
  // Of buffers without memory each takes it over, and goes, within the next one. How many there are
  // is counted from the last that has some: a program that is always a launch behind never ends.
  constexpr int64_t kMaxPending = 64;
  if (source->storage_.load(std::memory_order_acquire) == nullptr) {
    aliasChain_ = source->aliasChain_ ? source->aliasChain_ : makeRef<AliasChain>();
    aliasPosition_ = source->aliasPosition_ + 1;
    if (aliasPosition_ - aliasChain_->done.load(std::memory_order_acquire) > kMaxPending) {
      aliasChain_.reset();
      aliasPosition_ = 0;
      return;
    }
  }
  aliasSource_ = std::move(source);
}

Ref<Storage> Buffer::storageToTakeOver() {
  // A hold of our own, or the launch could end and free the memory meanwhile. With one hold on a
  // deleted buffer, no other can come.
  uint32_t holds = holds_.load(std::memory_order_relaxed);
  do {
    if ((holds & (kDeleted | kCount)) != (kDeleted | 1)) return nullptr;
  } while (!holds_.compare_exchange_weak(holds, holds + 1, std::memory_order_acquire,
                                         std::memory_order_relaxed));
  Ref<Storage> taken;
  StatusOr<Storage*> own = storage();
  if (own.ok() && (*own)->isWritable() && (*own)->isUnique()) {
    isLent_ = true;
    taken = Ref<Storage>::adopt(*own);
  }
  dropHold();
  return taken;
}

StatusOr<void*> Buffer::pointer() {
  hasGivenAddress_.store(true, std::memory_order_seq_cst);
  bool isHeld = hold();
  if (!isHeld && externalReferences_.load(std::memory_order_acquire) == 0) {
    return invalidArgument("the address of a buffer that has been deleted or donated");
  }
  Status status;
  if (!allocatesLate_) status = definition_.await();
  void* data = nullptr;
  if (status.ok()) {
    StatusOr<Storage*> memory = storage();
    if (memory.ok()) {
      data = (*memory)->data();
    } else {
      status = memory.status();
    }
  }
  if (isHeld) dropHold();
  if (!status.ok()) return status;
  return data;
}

Status Buffer::addExternalReference() {
  if (!hold()) {
    return invalidArgument("an external reference to a buffer that has been deleted or donated");
  }
  if (externalReferences_.fetch_add(1, std::memory_order_release) < kMaxExternalReferences) {
    return {};
  }
  (void)dropExternalReference();
  return resourceExhausted("a buffer has ", kMaxExternalReferences, " external references already");
}

Status Buffer::dropExternalReference() {
  int32_t count = externalReferences_.load(std::memory_order_relaxed);
  do {
    if (count == 0) {
      return invalidArgument(
          "Attempting to decrease reference on a buffer with zero reference count.");
    }
  } while (!externalReferences_.compare_exchange_weak(count, count - 1, std::memory_order_acq_rel));
  dropHold();
  return {};
}

}  // namespace isthmus
