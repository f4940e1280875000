// Counts the pieces of each buffer and defines it when the last has come.
#include "runtime/buffer/host_to_device.h"

#include <utility>

#include "runtime/device/device_copies.h"
#include "runtime/memory/host_layout.h"

namespace isthmus {

struct HostToDeviceTransfers::Entry {
  // Begins a copy; an error if the buffer is complete.
  Status beginCopy(int index, bool isLast);
  // Ends a copy; the one that ends when nothing is left to come defines the buffer.
  void endCopy(const Status& status);

  BufferRef buffer;  // in writing until it is defined
  std::mutex mutex;
  bool isRetrieved = false;
  bool isLastSeen = false;
  bool isDefined = false;
  int running = 0;  // copies that are going on
  Status error;     // of the first copy that failed
  Promise promise = Promise::ofCaller();
};

HostToDeviceTransfers::HostToDeviceTransfers(Memory& memory) : memory_(memory) {}

StatusOr<std::unique_ptr<HostToDeviceTransfers>> HostToDeviceTransfers::create(
    Memory& memory, std::vector<ArrayType> types) {
  std::unique_ptr<HostToDeviceTransfers> transfers(new HostToDeviceTransfers(memory));
  for (ArrayType& type : types) {
    if (!type.isValid()) return invalidArgument("transfer of invalid type ", type.toString());
    ISTHMUS_ASSIGN_OR_RETURN(Ref<Storage> storage,
                             Storage::allocate(memory, type.sizeBytes(), {&type, "from the host"}));
    auto entry = std::make_shared<Entry>();
    entry->buffer = makeRef<Buffer>(memory, std::make_shared<const ArrayType>(std::move(type)),
                                    std::move(storage), entry->promise.event());
    entry->buffer->beginWriting();
    transfers->entries_.push_back(std::move(entry));
  }
  return transfers;
}

HostToDeviceTransfers::~HostToDeviceTransfers() {
  for (auto& entry : entries_) {
    bool isAbandoned, isIdle;
    {
      std::lock_guard lock(entry->mutex);
      isAbandoned = !entry->isDefined && !(entry->isLastSeen && entry->running > 0);
      isIdle = entry->running == 0;
      if (isAbandoned) entry->isDefined = true;
    }
    if (isAbandoned) {
      if (isIdle) entry->buffer->endWriting();
      entry->promise.set(Status(StatusCode::kCancelled,
                                "transfer manager was destroyed before the buffer was complete"));
    }
    if (!entry->isRetrieved) entry->buffer->release();
  }
}

StatusOr<std::shared_ptr<HostToDeviceTransfers::Entry>> HostToDeviceTransfers::entry(
    int index) const {
  if (index < 0 || static_cast<size_t>(index) >= entries_.size()) {
    return invalidArgument("transfer manager: buffer index ", index, ", expected 0 to ",
                           static_cast<int64_t>(entries_.size()) - 1);
  }
  return entries_[static_cast<size_t>(index)];
}

StatusOr<size_t> HostToDeviceTransfers::bufferSize(int index) const {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Entry> found, entry(index));
  return found->buffer->sizeBytes();
}

StatusOr<BufferRef> HostToDeviceTransfers::retrieve(int index) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Entry> found, entry(index));
  std::lock_guard lock(found->mutex);
  if (found->isRetrieved) {
    return invalidArgument("transfer manager: buffer ", index, " was retrieved before");
  }
  found->isRetrieved = true;
  return found->buffer;
}

Status HostToDeviceTransfers::Entry::beginCopy(int index, bool isLast) {
  std::lock_guard lock(mutex);
  if (isDefined || isLastSeen) {
    return invalidArgument("transfer manager: data for buffer ", index,
                           " after its last piece or its error");
  }
  isLastSeen = isLast;
  ++running;
  return {};
}

void HostToDeviceTransfers::Entry::endCopy(const Status& status) {
  bool defines, isIdle;
  {
    std::lock_guard lock(mutex);
    if (error.ok()) error = status;
    isIdle = --running == 0;
    defines = isIdle && isLastSeen && !isDefined;
    if (defines) isDefined = true;
    isIdle = isIdle && isDefined;
  }
  if (isIdle) buffer->endWriting();
  if (defines) promise.set(error);
}

StatusOr<Event> HostToDeviceTransfers::transferData(int index, const void* data, int64_t offset,
                                                    int64_t bytes, bool isLast) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Entry> found, entry(index));
  auto size = static_cast<int64_t>(found->buffer->sizeBytes());
  if (offset < 0 || bytes < 0 || offset > size || bytes > size - offset) {
    return invalidArgument("transfer manager: buffer ", index, " has ", size,
                           " bytes, got data at offset ", offset, " of ", bytes, " bytes");
  }
  if (data == nullptr && bytes > 0) {
    return invalidArgument("transfer manager: data for buffer ", index, " is null");
  }
  ISTHMUS_RETURN_IF_ERROR(found->beginCopy(index, isLast));
  auto count = static_cast<size_t>(bytes);
  auto at = static_cast<size_t>(offset);
  // Being in writing keeps the memory, also if the buffer was deleted since.
  StatusOr<Storage*> storage = found->buffer->storage();
  Status status = storage.status();
  if (storage.ok() && memory_.queue() != nullptr) {
    return enqueueWrite(**storage, at, data, count, {},
                        [found](const Status& end) { found->endCopy(end); });
  }
  if (storage.ok()) status = memory_.write((*storage)->data(), at, data, count);
  found->endCopy(status);
  if (!status.ok()) return status;
  return Event();
}

StatusOr<Event> HostToDeviceTransfers::transferArray(int index, const HostArray& array) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Entry> found, entry(index));
  const ArrayType& type = found->buffer->type();
  if (array.type.elementType != type.elementType || array.type.dims != type.dims) {
    return invalidArgument("transfer manager: buffer ", index, " is ",
                           found->buffer->type().toString(), ", got ", array.type.toString());
  }
  std::vector<int64_t> dense = denseStrides(array.type);
  std::span<const int64_t> strides = array.byteStrides ? *array.byteStrides : dense;
  if (strides.size() != array.type.dims.size()) {
    return invalidArgument("transfer manager: ", strides.size(), " strides, expected ",
                           array.type.dims.size());
  }
  if (array.data == nullptr && array.type.sizeBytes() > 0) {
    return invalidArgument("transfer manager: data for buffer ", index, " is null");
  }
  ISTHMUS_RETURN_IF_ERROR(found->beginCopy(index, true));
  StatusOr<Storage*> storage = found->buffer->storage();
  Status status = storage.status();
  if (storage.ok() && memory_.queue() != nullptr) {
    const void* data = array.data;
    Staging staging;
    if (!isDense(type, strides)) {
      StatusOr<Staging> made = stageFromHost(type, array.data, strides);
      status = made.status();
      if (made.ok()) staging = *std::move(made);
      data = staging.data();
    }
    if (status.ok()) {
      return enqueueWrite(**storage, 0, data, type.sizeBytes(), std::move(staging),
                          [found](const Status& end) { found->endCopy(end); });
    }
  } else if (storage.ok()) {
    status = memory_.writeArray((*storage)->data(), type, array.data, strides);
  }
  found->endCopy(status);
  if (!status.ok()) return status;
  return Event();
}

Status HostToDeviceTransfers::setError(int index, Status error) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<Entry> found, entry(index));
  if (error.ok()) return invalidArgument("transfer manager: the error is OK");
  bool isIdle;
  {
    std::lock_guard lock(found->mutex);
    if (found->isDefined || found->isLastSeen) {
      return invalidArgument("transfer manager: buffer ", index, " is complete already");
    }
    found->isDefined = true;
    isIdle = found->running == 0;
  }
  // A copy that is going on keeps the memory until its end.
  if (isIdle) found->buffer->endWriting();
  found->promise.set(std::move(error));
  return {};
}

}  // namespace isthmus
