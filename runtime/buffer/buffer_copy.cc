// Copies of buffers: to the host, to other memories, and views that share memory.
#include <cstring>

#include "runtime/buffer/buffer.h"
#include "runtime/client.h"
#include "runtime/device/device_copies.h"
#include "runtime/memory/host_layout.h"

namespace isthmus {
namespace {

// A copy of at most so many bytes is done on the thread that finds the source ready.
constexpr size_t kInlineBytes = 256 << 10;

// Runs `copy` (a Status()) once the definition of `source` has happened, and drops the hold that
// the caller took. The event carries the error of the source or of the copy.
template <typename Copy>
Event copyWhenDefined(BufferRef source, size_t bytes, Copy copy) {
  const Event& definition = source->definition();
  bool isSmall = bytes <= kInlineBytes;
  if (definition.isReady() && (isSmall || !definition.status().ok())) {
    Status status = definition.status();
    if (status.ok()) status = copy();
    source->dropHold();
    return Event::of(std::move(status));
  }
  Promise promise = Promise::after(definition);
  Event done = promise.event();
  definition.onReady([source, isSmall, copy = std::move(copy), promise](const Status& status) {
    auto finish = [source, promise, copy](Status status) mutable {
      if (status.ok()) status = copy();
      source->dropHold();
      promise.set(std::move(status));
    };
    if (isSmall || !status.ok()) {
      finish(status);
    } else {
      source->client().transferQueue().push([finish]() mutable { finish(Status()); });
    }
  });
  return done;
}

// Whether an array with these strides lies within `bytes` bytes from element 0 on. Negative strides
// reach before element 0, where the caller alone knows the bounds.
bool fitsIn(const ArrayType& type, std::span<const int64_t> byteStrides, size_t bytes) {
  if (type.numElements() == 0) return true;
  __int128 last = static_cast<__int128>(elementSizeBytes(type.elementType));
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (byteStrides[i] > 0) last += static_cast<__int128>(byteStrides[i]) * (type.dims[i] - 1);
  }
  return last <= static_cast<__int128>(bytes);
}

// A buffer that shares the memory of `source`, on which the caller has a hold, once that is defined
// and `dependency` has happened.
BufferRef shareWhenDefined(BufferRef source, Memory& memory, std::shared_ptr<const ArrayType> type,
                           const Event& dependency) {
  const Event both[] = {source->definition(), dependency};
  Event ready = whenAll(both);
  // What the device defines can be shared at once, with the work that does.
  bool isHanded = source->work() && source->usable().isReady() && source->usable().status().ok();
  if (isHanded && dependency.isReady() && dependency.status().ok()) {
    StatusOr<Storage*> shared = source->storage();
    if (shared.ok()) {
      auto result =
          makeRef<Buffer>(memory, std::move(type), Ref<Storage>(*shared), source->definition());
      result->setWork(source->work());
      source->dropHold();
      return result;
    }
  }
  if (ready.isReady()) {
    Ref<Storage> storage;
    Status status = ready.status();
    if (status.ok()) {
      StatusOr<Storage*> shared = source->storage();
      status = shared.status();
      if (shared.ok()) storage = Ref<Storage>(*shared);
    }
    source->dropHold();
    return makeRef<Buffer>(memory, std::move(type), std::move(storage),
                           Event::of(std::move(status)));
  }
  Promise promise = Promise::after(ready);
  auto result = makeRef<Buffer>(memory, std::move(type), nullptr, promise.event(), false);
  ready.onReady([source, result, promise](const Status& before) {
    Status status = before;
    if (status.ok()) {
      StatusOr<Storage*> shared = source->storage();
      status = shared.status();
      if (shared.ok()) result->setStorage(Ref<Storage>(*shared));
    }
    source->dropHold();
    promise.set(std::move(status));
  });
  return result;
}

}  // namespace

StatusOr<Event> Buffer::copyToHost(void* destination, size_t bytes,
                                   std::span<const int64_t> byteStrides) {
  noteAsked();
  std::vector<int64_t> strides(byteStrides.begin(), byteStrides.end());
  if (strides.empty() && !type_->dims.empty()) strides = denseStrides(*type_);
  if (strides.size() != type_->dims.size()) {
    return invalidArgument("copy to host of ", type_->toString(), ": ", strides.size(),
                           " strides, expected ", type_->dims.size());
  }
  if (!fitsIn(*type_, strides, bytes)) {
    return invalidArgument("copy to host of ", type_->toString(), ": got room for ", bytes,
                           " bytes, the array needs more");
  }
  if (!hold()) return invalidArgument("copy to host of a buffer that was deleted or donated");
  BufferRef self(this);
  if (memory_.queue() != nullptr) return enqueueToHost(self, destination, strides);
  return copyWhenDefined(self, sizeBytes_, [self = this, destination, strides]() -> Status {
    ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, self->storage());
    return self->memory().readArray(storage->data(), self->type(), destination, strides);
  });
}

Event Buffer::copyRawToHost(void* destination, int64_t offset, int64_t bytes) {
  noteAsked();
  auto size = static_cast<int64_t>(sizeBytes_);
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset) {
    return Event::of(invalidArgument("Copy raw buffer called on buffer size ", size,
                                     " with invalid offset ", offset, ", transfer size ", bytes));
  }
  if (!hold()) {
    return Event::of(invalidArgument("raw copy to host of a buffer that was deleted or donated"));
  }
  BufferRef self(this);
  if (memory_.queue() != nullptr) {
    return enqueueRawToHost(self, destination, static_cast<size_t>(offset),
                            static_cast<size_t>(bytes));
  }
  return copyWhenDefined(self, static_cast<size_t>(bytes),
                         [self = this, destination, offset, bytes]() -> Status {
                           ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, self->storage());
                           return self->memory().read(storage->data(), static_cast<size_t>(offset),
                                                      destination, static_cast<size_t>(bytes));
                         });
}

StatusOr<BufferRef> Buffer::copyToMemory(Memory& destination) {
  if (&destination.client() != &client()) {
    return invalidArgument("copy to ", destination.toString(), " of another client");
  }
  if (!hold()) return invalidArgument("copy of a buffer that was deleted or donated");
  BufferRef self(this);
  if (&destination != &memory_ && client().backend().isHostAddressable()) {
    return shareWhenDefined(self, destination, type_, Event());
  }
  // The new buffer keeps its memory while it is written, whatever its owner does to it.
  Promise promise = Promise::after(definition_);
  auto copy = makeRef<Buffer>(destination, type_, nullptr, promise.event());
  if (memory_.queue() != nullptr) {
    enqueueCopy(self, copy, promise);
    return copy;
  }
  copy->beginWriting();
  Event done = copyWhenDefined(self, sizeBytes_, [self = this, copy]() -> Status {
    ISTHMUS_ASSIGN_OR_RETURN(Storage * source, self->storage());
    ISTHMUS_ASSIGN_OR_RETURN(Storage * target, copy->storage());
    return copy->memory().copyFrom(target->data(), source->memory(), source->data(),
                                   self->sizeBytes());
  });
  done.onReady([copy, promise](const Status& status) {
    copy->endWriting();
    promise.set(status);
  });
  return copy;
}

StatusOr<BufferRef> Buffer::donateAfter(const Event& dependency) {
  if (!donate()) return invalidArgument("donation of a buffer that was deleted or donated");
  return shareWhenDefined(BufferRef(this), memory_, type_, dependency);
}

StatusOr<BufferRef> Buffer::bitcast(ArrayType type) {
  if (!type.isValid() || type.sizeBytes() != sizeBytes_) {
    return invalidArgument("bitcast of ", type_->toString(), " to ", type.toString(),
                           ": the sizes in bytes differ");
  }
  if (!hold()) return invalidArgument("bitcast of a buffer that was deleted or donated");
  return shareWhenDefined(BufferRef(this), memory_,
                          std::make_shared<const ArrayType>(std::move(type)), Event());
}

// ---- Alias buffers
// --------------------------------------------------------------------------------

std::pair<BufferRef, std::unique_ptr<AliasPromise>> AliasPromise::make(
    Memory& memory, std::shared_ptr<const ArrayType> type) {
  Promise promise = Promise::ofCaller();
  auto alias = makeRef<Buffer>(memory, std::move(type), nullptr, promise.event(), false);
  return {alias, std::unique_ptr<AliasPromise>(new AliasPromise(alias, promise))};
}

AliasPromise::~AliasPromise() {
  if (!used_.load(std::memory_order_acquire)) {
    promise_.set(Status(StatusCode::kCancelled, "alias buffer was never fulfilled"));
  }
}

Status AliasPromise::fulfill(Buffer& source) {
  if (source.sizeBytes() != alias_->sizeBytes()) {
    return invalidArgument("alias buffer of ", alias_->type().toString(), " fulfilled with ",
                           source.type().toString());
  }
  if (&source.memory() != &alias_->memory()) {
    return invalidArgument("alias buffer in ", alias_->memory().toString(),
                           " fulfilled with a buffer in ", source.memory().toString());
  }
  if (!source.hold()) {
    return invalidArgument("alias buffer fulfilled with a buffer that was deleted or donated");
  }
  if (used_.exchange(true, std::memory_order_acq_rel)) {
    source.dropHold();
    return invalidArgument("alias buffer fulfilled twice");
  }
  if (!promise_.handOver(source.definition())) {
    source.dropHold();
    Status error = invalidArgument("alias buffer of ", alias_->type().toString(),
                                   " fulfilled with itself, or with what is computed from it");
    promise_.set(error);
    return error;
  }
  BufferRef shared(&source);
  source.definition().onReady([shared, alias = alias_, promise = promise_](const Status& before) {
    Status status = before;
    if (status.ok()) {
      StatusOr<Storage*> storage = shared->storage();
      status = storage.status();
      if (storage.ok()) alias->setStorage(Ref<Storage>(*storage));
    }
    shared->dropHold();
    promise.set(std::move(status));
  });
  return {};
}

Status AliasPromise::fail(Status error) {
  if (used_.exchange(true, std::memory_order_acq_rel)) {
    return invalidArgument("alias buffer fulfilled twice");
  }
  promise_.set(std::move(error));
  return {};
}

}  // namespace isthmus
