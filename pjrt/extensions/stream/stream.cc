// Extension 3: streams of other libraries, with which arrays are shared in a device's memory.
#include "isthmus/device_optional.h"
#include "pjrt/entry.h"
#include "pjrt/extensions/extensions.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

Status getStream(PJRT_Get_Stream_For_External_Ready_Events_Args& args) {
  args.stream = 0;
  ISTHMUS_REQUIRE(args, device);
  Device& device = fromHandle(args.device);
  Memory* memory = device.defaultMemory();
  DeviceQueue* queue = memory != nullptr ? memory->queue() : nullptr;
  ExternalStreams* streams = queue != nullptr ? queue->externalStreams() : nullptr;
  if (streams == nullptr) {
    return unimplemented("device ", device.id(), " has no streams that others know");
  }
  args.stream = streams->stream();
  return {};
}

// Waits here rather than on the stream: what is enqueued on it later comes after all the same.
Status waitStream(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  Buffer& buffer = fromHandle(args.buffer);
  if (buffer.client().backend().isHostAddressable()) {
    return unimplemented("buffers in the host's memory are ready on no stream");
  }
  return buffer.readyEvent().await();
}

}  // namespace

PJRT_Extension_Base& streamExtension() {
  static PJRT_Stream_Extension extension = {
      .base = {sizeof(PJRT_Stream_Extension), PJRT_Extension_Type_Stream, nullptr},
      .get_stream = kEntry<&getStream>,
      .wait_stream = kEntry<&waitStream>,
  };
  return extension.base;
}

}  // namespace isthmus::pjrt
