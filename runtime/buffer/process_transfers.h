// Buffers that go from a device of one process to a device of another, outside of programs.
#pragma once

#include "isthmus/status.h"
#include "runtime/buffer/buffer.h"
#include "runtime/event.h"

namespace isthmus {

// Sends the contents, once they are defined, to a device of another process of the job, which
// receives them with the same key from the device that the buffer is on. Returns at once. The event
// happens when the contents may change; an error of the contents goes to the receiver, and is the
// event's. Keys of transfers between the same two devices that are under way at the same time
// differ. kInvalidArgument for a deleted buffer and for a device of this process.
StatusOr<Event> sendToProcess(Buffer& buffer, const Device& destination, int64_t key);

// A buffer that is defined when the contents have come. It is poisoned if the sender's contents
// were, if they are of another size, and if the sender is gone or silent for
// ISTHMUS_COLLECTIVE_TIMEOUT_SECONDS, which ends the job's communication as for a collective.
StatusOr<BufferRef> receiveFromProcess(Memory& memory, ArrayType type, const Device& source,
                                       int64_t key);

}  // namespace isthmus
