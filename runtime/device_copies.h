// Copies on asynchronous devices: handed to the device's queue as soon as what they depend on has
// been, and done when its event says so.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "isthmus/status.h"
#include "isthmus/types.h"
#include "runtime/buffer.h"
#include "runtime/event.h"
#include "runtime/staging.h"
#include "runtime/storage.h"

namespace isthmus {

// The array, dense in the layout of its type.
StatusOr<Staging> stageFromHost(const ArrayType& type, const void* host,
                                std::span<const int64_t> byteStrides);

// Copies host memory into memory that the caller keeps until the end, which `onEnd` is told first,
// in any case and once. `staging`, if it is not empty, is kept until then. The event happens at the
// end; an error means that nothing was handed over.
StatusOr<Event> enqueueWrite(Storage& storage, size_t offset, const void* host, size_t bytes,
                             Staging staging, std::function<void(const Status&)> onEnd);

// A new buffer of `type` with a copy of host memory. `hostMemoryDone` happens when that is read; if
// `isBorrowed` is not set, that is before this returns.
StatusOr<BufferRef> enqueueFromHost(Memory& memory, std::shared_ptr<const ArrayType> type,
                                    const void* host, std::span<const int64_t> byteStrides,
                                    bool isBorrowed, Event& hostMemoryDone);

// Buffer::copyToHost and copyRawToHost, after their checks. The caller's hold on `source` is
// dropped when the copy has been handed over.
Event enqueueToHost(const BufferRef& source, void* host, std::span<const int64_t> byteStrides);
Event enqueueRawToHost(const BufferRef& source, void* host, size_t offset, size_t bytes);

// Fills `copy`, which has no memory yet, with a copy of `source`, on whose hold the same is true.
// The definition of `copy` is `promise`.
void enqueueCopy(const BufferRef& source, const BufferRef& copy, const Promise& promise);

}  // namespace isthmus
