// A device array: its type, where it lives, the memory, and the event that defines its contents.
//
// A Buffer is shared by its handle (what the C API gives out) and by the work in flight that reads
// it. Each of these holds it; the memory goes back when the last hold does. `release` is what
// deleting, donating and destroying the handle have in common: the handle's hold goes, and no new
// ones are given.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/status.h"
#include "isthmus/types.h"
#include "runtime/device/device_work.h"
#include "runtime/event.h"
#include "runtime/memory/storage.h"
#include "runtime/ref.h"

namespace isthmus {

class Buffer;
class Client;
class Device;
using BufferRef = Ref<Buffer>;

class Buffer final : public RefCounted<Buffer> {
 public:
  // A buffer whose contents are in `storage` once `definition` has happened without error.
  // With a null `storage`, memory is allocated when it is first needed, or given by `setStorage`
  // before `definition` happens.
  Buffer(Memory& memory, std::shared_ptr<const ArrayType> type, Ref<Storage> storage,
         Event definition, bool allocatesLate = true);
  ~Buffer();

  const ArrayType& type() const { return *type_; }
  size_t sizeBytes() const { return sizeBytes_; }
  Memory& memory() const { return memory_; }
  Device& device() const { return memory_.device(); }
  Client& client() const { return *client_; }

  // Happens when the contents are there, or with the error that keeps them from being so. For a
  // buffer that was deleted or donated: an error that says so.
  // Who asks is taken to wait for it.
  Event readyEvent() const;
  // The same, deleted or not.
  const Event& definition() const { return definition_; }

  // Gives the memory up as soon as work in flight and external references are done. Idempotent.
  void release();
  bool isDeleted() const { return (holds_.load(std::memory_order_acquire) & kDeleted) != 0; }

  // The address of the first element. Does not wait for the contents: memory that a pending
  // program will write is allocated now. Only for alias buffers, which have no memory until they
  // are fulfilled, does it block until then. kInvalidArgument if deleted and not externally
  // referenced.
  StatusOr<void*> pointer();

  // External references keep the memory alive and unchanged over delete and donation.
  Status addExternalReference();
  // kInvalidArgument "Attempting to decrease reference on a buffer with zero reference count."
  Status dropExternalReference();

  // Copies the array to host memory of at least `bytes` bytes at `destination` (the address of
  // element 0), dense in the buffer's layout, or with these strides in bytes. The event happens
  // when it is done; errors of the contents come through it.
  StatusOr<Event> copyToHost(void* destination, size_t bytes,
                             std::span<const int64_t> byteStrides = {});
  // Copies `bytes` bytes from byte `offset` on. A bad range is an error of the event.
  Event copyRawToHost(void* destination, int64_t offset, int64_t bytes);

  // A copy in another memory, or a second one in the same. On devices that share the host's
  // memory a copy to another device shares the block until somebody wants to write it.
  StatusOr<BufferRef> copyToMemory(Memory& destination);

  // A new buffer with this one's memory and contents, defined no earlier than `dependency`; this
  // one is then donated.
  StatusOr<BufferRef> donateAfter(const Event& dependency);

  // A new buffer that shows the same bytes as another type of the same size. This one stays.
  StatusOr<BufferRef> bitcast(ArrayType type);

  // ---- For work in flight ----

  // Takes a hold: false if the buffer is deleted.
  bool hold();
  // Takes the handle's hold and marks the buffer donated: false if it is deleted already.
  bool donate();
  // Undoes a `donate`, for a launch that turns out not to happen.
  void undoDonate();
  void dropHold();
  // Around the work that defines the contents, the first before others see the buffer: keeps the
  // memory like a hold, but does not stand in the way of whom the buffer was donated to, who waits
  // for the definition anyway.
  void beginWriting() { holds_.fetch_or(kWriting, std::memory_order_relaxed); }
  void endWriting();
  // True if the caller's is the only hold and nobody else shares the memory: it may be written.
  bool isExclusive() const;
  // Sets the memory of a buffer made without, before its definition happens. False, and nothing
  // changes, if it has some: `pointer` may have been asked for.
  bool setStorage(Ref<Storage> storage);
  // For the result of a launch to which `source` was donated: takes over the memory of `source`
  // when memory is first needed, if nobody else uses it by then. Before others see this buffer.
  void setAliasSource(BufferRef source);
  // The device's work that defines the contents, on asynchronous devices, as its output of this
  // number. Before others see this buffer.
  void setWork(Ref<DeviceWork> work, int output = 0) {
    work_ = std::move(work);
    output_ = output;
  }
  const Ref<DeviceWork>& work() const { return work_; }
  // The number of the launch that this is a result of, by its device's CallerHabit. Before others
  // see this buffer.
  void setLaunch(uint32_t number) { launch_ = number; }
  // When work on the contents can be handed to a device: as soon as what defines them has been, if
  // that is work of the device; else when they are there.
  const Event& usable() const { return work_ ? work_->handed() : definition_; }
  // For host memory that is used in place although vectors straddle cache lines there: the first
  // programs read it where it is, for many arrays are the argument of but one; then it is copied.
  // Before others see this buffer.
  void alignAfterFewUses() { usesInPlace_.store(kUsesInPlace + 1, std::memory_order_relaxed); }
  // Of a program that is about to read the contents, after it took its hold and before it asks for
  // the memory.
  void noteUse() {
    if (usesInPlace_.load(std::memory_order_relaxed) != 0) countUseInPlace();
  }
  // Adds to `after` what such work must wait for; the error of the contents if they have one by
  // now. Only once usable without error.
  Status addDefinitionTo(std::vector<DeviceEventRef>& after) const;
  // The memory; allocates it if there is none yet. Only while the caller has a hold.
  StatusOr<Storage*> storage();

 private:
  // The memory of a donated buffer, if the launch it was donated to is its only user. The launch
  // still reads it through this buffer; the new owner lives at least until then.
  Ref<Storage> storageToTakeOver();

  void freeStorage();
  void noteAsked() const;
  void countUseInPlace();
  // Copies contents that are there to memory of our own. Nothing happens while others may read
  // them, or have the address.
  void align();

  static constexpr uint32_t kDeleted = 1u << 31;
  static constexpr uint32_t kWriting = 1u << 30;
  // The owner deleted the buffer while it was donated: it stays deleted if the donation is undone.
  static constexpr uint32_t kReleased = 1u << 29;
  static constexpr uint32_t kCount = kReleased - 1;
  static constexpr int32_t kMaxExternalReferences = 1 << 24;
  // A copy costs what two or three programs lose that stream through the array.
  static constexpr int8_t kUsesInPlace = 2;

  const Ref<Client> client_;
  Memory& memory_;
  std::shared_ptr<const ArrayType> type_;
  size_t sizeBytes_;
  const Event definition_;
  std::atomic<uint32_t> holds_{1};  // kCount: number of holds
  std::atomic<Storage*> storage_{nullptr};
  std::atomic<int32_t> externalReferences_{0};
  std::atomic<int8_t> usesInPlace_{0};  // left, and the one that copies; 0: none will
  std::atomic<bool> hasGivenAddress_{false};
  Ref<Storage> readBefore_;   // what a copy took the place of, if somebody may still read it
  const bool allocatesLate_;  // else the memory comes with `setStorage` only
  int output_ = 0;            // of work_
  uint32_t launch_ = 0;       // 0: not the result of a launch, or of a cheap one
  bool isLent_ = false;       // the reference on the storage went to the result that took it over
  BufferRef aliasSource_;     // until the memory is there
  // Of buffers of which each is to take over the memory of the one before.
  struct AliasChain final : RefCounted<AliasChain> {
    std::atomic<int64_t> done{0};  // the last position that has its memory
  };
  Ref<AliasChain> aliasChain_;
  int64_t aliasPosition_ = 0;
  Ref<DeviceWork> work_;
  std::mutex mutex_;  // taken to allocate late, and to align
};

// Fulfils an alias buffer once: with the contents of another buffer, or with an error.
class AliasPromise {
 public:
  // A buffer of this type without memory, and the promise of it.
  static std::pair<BufferRef, std::unique_ptr<AliasPromise>> make(
      Memory& memory, std::shared_ptr<const ArrayType> type);
  // An unfulfilled alias gets an error.
  ~AliasPromise();

  // kInvalidArgument if the types differ in size, if the memories are not the same, if the promise
  // has been kept already, or if `source` itself waits for the alias, which then gets that error.
  Status fulfill(Buffer& source);
  Status fail(Status error);

 private:
  AliasPromise(BufferRef alias, Promise promise)
      : alias_(std::move(alias)), promise_(std::move(promise)) {}
  BufferRef alias_;
  Promise promise_;
  std::atomic<bool> used_{false};
};

}  // namespace isthmus
