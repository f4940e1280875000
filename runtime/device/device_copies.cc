// Each copy: wait until its source is usable, hand it over, note its use of the memory, and tell
// its end.
#include "runtime/device/device_copies.h"

#include <utility>
#include <vector>

#include "isthmus/trace.h"
#include "runtime/client.h"
#include "runtime/memory/host_layout.h"

namespace isthmus {
namespace {

using Lane = Device::Lane;

// Hands over work that reads `source`, now or when it is usable: `enqueue` gets its memory and what
// to wait for, to which it may add, and returns the work's event. Drops the caller's hold. `onEnd`
// gets the outcome: the error of the source before that of the work.
void enqueueReader(
    const BufferRef& source, Device& device, Lane lane,
    std::function<StatusOr<DeviceEventRef>(Storage&, std::vector<DeviceEventRef>& after)> enqueue,
    std::function<void(Status)> onEnd) {
  source->usable().onReady([source, &device, lane, enqueue = std::move(enqueue),
                            onEnd = std::move(onEnd)](const Status& usable) {
    std::vector<DeviceEventRef> after;
    auto hand = [&]() -> StatusOr<DeviceEventRef> {
      ISTHMUS_RETURN_IF_ERROR(usable);
      ISTHMUS_RETURN_IF_ERROR(device.givenUp());
      ISTHMUS_RETURN_IF_ERROR(source->addDefinitionTo(after));
      ISTHMUS_ASSIGN_OR_RETURN(Storage * storage, source->storage());
      ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef event, enqueue(*storage, after));
      storage->addUse(event);
      return event;
    };
    StatusOr<DeviceEventRef> event = hand();
    source->dropHold();
    if (!event.ok()) return onEnd(event.status());
    device.whenDone(
        lane, *event, "a copy",
        [source, onEnd](Status end) {
          source->definition().onReady([onEnd, end = std::move(end)](const Status& before) {
            onEnd(before.ok() ? end : before);
          });
        },
        std::move(after));
  });
}

// Copies to memory of the runtime's, of which `deliver` gets the address in time.
Event enqueueToStaging(const BufferRef& source, size_t offset, size_t bytes,
                       std::function<void(const void*)> deliver) {
  StatusOr<Staging> made = Staging::allocate(bytes);
  if (!made.ok()) {
    source->dropHold();
    return Event::of(made.status());
  }
  auto staging = std::make_shared<Staging>(*std::move(made));
  Promise promise;
  enqueueReader(
      source, source->device(), Lane::kToHost,
      [offset, bytes, staging](Storage& storage, std::vector<DeviceEventRef>& after) {
        return storage.memory().queue()->copyToHost(storage.data(), offset, staging->data(), bytes,
                                                    after);
      },
      [staging, promise, deliver = std::move(deliver)](Status end) {
        if (end.ok()) deliver(staging->data());
        promise.set(std::move(end));
      });
  return promise.event();
}

}  // namespace

StatusOr<Staging> stageFromHost(const ArrayType& type, const void* host,
                                std::span<const int64_t> byteStrides) {
  ISTHMUS_ASSIGN_OR_RETURN(Staging staging, Staging::allocate(type.sizeBytes()));
  if (byteStrides.empty() || isDense(type, byteStrides)) {
    copyBytes(staging.data(), host, type.sizeBytes());
  } else {
    copyStrided(type, host, byteStrides, staging.data(), {});
  }
  return staging;
}

StatusOr<Event> enqueueWrite(Storage& storage, size_t offset, const void* host, size_t bytes,
                             Staging staging, std::function<void(const Status&)> onEnd) {
  std::vector<DeviceEventRef> after;
  auto hand = [&]() -> StatusOr<DeviceEventRef> {
    if (Device::mayGiveUp() && staging.data() == nullptr) {
      ISTHMUS_ASSIGN_OR_RETURN(staging, Staging::allocate(bytes));
      copyBytes(staging.data(), host, bytes);
      host = staging.data();
    }
    storage.addUsesTo(after);
    return storage.memory().queue()->copyFromHost(storage.data(), offset, host, bytes, after);
  };
  StatusOr<DeviceEventRef> event = hand();
  if (!event.ok()) {
    onEnd(event.status());
    return event.status();
  }
  storage.addUse(*event);
  Promise promise;
  auto kept = std::make_shared<Staging>(std::move(staging));
  storage.memory().device().whenDone(
      Lane::kFromHost, *event, "a copy",
      [promise, kept, onEnd = std::move(onEnd)](const Status& end) {
        onEnd(end);
        promise.set(end);
      },
      std::move(after));
  return promise.event();
}

StatusOr<Client::FromHost> enqueueFromHost(Memory& memory, const HostArray& array,
                                           std::span<const int64_t> byteStrides) {
  const ArrayType& type = array.type;
  size_t bytes = type.sizeBytes();
  trace::Scope scope("copy to device", {}, static_cast<int64_t>(bytes));
  ISTHMUS_RETURN_IF_ERROR(memory.device().givenUp());
  const void* host = array.data;
  bool isBorrowed = array.semantics != HostBufferSemantics::kImmutableOnlyDuringCall &&
                    (byteStrides.empty() || isDense(type, byteStrides)) && !Device::mayGiveUp();
  Staging staging;
  if (!isBorrowed) {
    ISTHMUS_ASSIGN_OR_RETURN(staging, stageFromHost(type, host, byteStrides));
    host = staging.data();
  }
  ISTHMUS_ASSIGN_OR_RETURN(Ref<Storage> storage,
                           Storage::allocate(memory, bytes, {&type, "from the host"}));
  std::vector<DeviceEventRef> after;
  storage->addUsesTo(after);
  ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef event,
                           memory.queue()->copyFromHost(storage->data(), 0, host, bytes, after));
  storage->addUse(event);
  Promise promise;
  auto work = makeRef<DeviceWork>("from the host");
  work->hand(event);
  Client::FromHost made;
  made.buffer = makeRef<Buffer>(memory, std::make_shared<const ArrayType>(type), std::move(storage),
                                promise.event());
  made.buffer->setWork(std::move(work));
  if (isBorrowed) made.hostMemoryDone = promise.event();
  auto kept = std::make_shared<Staging>(std::move(staging));
  // The client, and with it the device, lives until the end.
  memory.device().whenDone(
      Lane::kFromHost, std::move(event), "a copy",
      [promise, kept, client = Ref<Client>(&memory.client())](Status end) {
        promise.set(std::move(end));
      },
      std::move(after));
  return made;
}

Event enqueueToHost(const BufferRef& source, void* host, std::span<const int64_t> byteStrides) {
  const ArrayType& type = source->type();
  if (byteStrides.empty() || isDense(type, byteStrides)) {
    return enqueueRawToHost(source, host, 0, type.sizeBytes());
  }
  std::vector<int64_t> strides(byteStrides.begin(), byteStrides.end());
  return enqueueToStaging(source, 0, type.sizeBytes(), [source, host, strides](const void* data) {
    copyStrided(source->type(), data, {}, host, strides);
  });
}

Event enqueueRawToHost(const BufferRef& source, void* host, size_t offset, size_t bytes) {
  trace::Scope scope("copy to host", {}, static_cast<int64_t>(bytes));
  if (Device::mayGiveUp()) {
    return enqueueToStaging(source, offset, bytes,
                            [host, bytes](const void* data) { copyBytes(host, data, bytes); });
  }
  Promise promise;
  enqueueReader(
      source, source->device(), Lane::kToHost,
      [host, offset, bytes](Storage& storage, std::vector<DeviceEventRef>& after) {
        return storage.memory().queue()->copyToHost(storage.data(), offset, host, bytes, after);
      },
      [promise](Status end) { promise.set(std::move(end)); });
  return promise.event();
}

void enqueueCopy(const BufferRef& source, const BufferRef& copy, const Promise& promise) {
  trace::Scope scope("copy between buffers", {}, static_cast<int64_t>(source->sizeBytes()));
  auto work = makeRef<DeviceWork>("a copy");
  copy->setWork(work);
  copy->beginWriting();
  int from = source->device().id();
  enqueueReader(
      source, copy->device(), Lane::kFromHost,
      [copy, work, from](Storage& storage,
                         std::vector<DeviceEventRef>& after) -> StatusOr<DeviceEventRef> {
        ISTHMUS_ASSIGN_OR_RETURN(Storage * target, copy->storage());
        target->addUsesTo(after);
        ISTHMUS_ASSIGN_OR_RETURN(DeviceEventRef event,
                                 copy->memory().queue()->copyFromDevice(
                                     target->data(), from, storage.data(), storage.bytes(), after));
        target->addUse(event);
        copy->endWriting();
        work->hand(event);
        return event;
      },
      [copy, work, promise](Status end) {
        // Not handed over: an error of the source, or of the call.
        if (!work->handed().isReady()) {
          copy->endWriting();
          work->fail(end);
        }
        promise.set(std::move(end));
      });
}

}  // namespace isthmus
