// Copies on asynchronous devices: handed to the device's queue as soon as what they depend on has
// been, and done when its event says so.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "isthmus/status.h"
#include "isthmus/types.h"
#include "runtime/buffer/buffer.h"
#include "runtime/client.h"
#include "runtime/event.h"
#include "runtime/memory/staging.h"
#include "runtime/memory/storage.h"

namespace isthmus {

// The array, dense in the layout of its type.
StatusOr<Staging> stageFromHost(const ArrayType& type, const void* host,
                                std::span<const int64_t> byteStrides);

// Copies host memory, which the caller keeps until the end, as it keeps the memory that it goes to.
// `onEnd` is told of the end first, in any case and once. `staging`, if it is not empty, is what
// `host` is in. The event happens at the end; an error means that nothing was handed over.
StatusOr<Event> enqueueWrite(Storage& storage, size_t offset, const void* host, size_t bytes,
                             Staging staging, std::function<void(const Status&)> onEnd);

// Client::bufferFromHost, after its checks. Empty strides: dense in the layout of the type.
StatusOr<Client::FromHost> enqueueFromHost(Memory& memory, const HostArray& array,
                                           std::span<const int64_t> byteStrides);

// Buffer::copyToHost and copyRawToHost, after their checks. The caller's hold on `source` is
// dropped when the copy has been handed over.
Event enqueueToHost(const BufferRef& source, void* host, std::span<const int64_t> byteStrides);
Event enqueueRawToHost(const BufferRef& source, void* host, size_t offset, size_t bytes);

// Fills `copy`, which has no memory yet, with a copy of `source`, on whose hold the same is true.
// The definition of `copy` is `promise`.
void enqueueCopy(const BufferRef& source, const BufferRef& copy, const Promise& promise);

}  // namespace isthmus
