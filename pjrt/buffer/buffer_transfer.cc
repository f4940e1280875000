// The entries of PJRT_Buffer that copy, share or hand over contents.
#include <memory>
#include <string>

#include "pjrt/bindings.h"
#include "pjrt/buffer/layout.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

Status bufferToHostBuffer(PJRT_Buffer_ToHostBuffer_Args& args) {
  args.event = nullptr;
  ISTHMUS_REQUIRE(args, src);
  Buffer& buffer = fromHandle(args.src);
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<int64_t> strides,
                           toHostStrides(args.host_layout, buffer.type()));
  ISTHMUS_ASSIGN_OR_RETURN(size_t needed, spanBytes(buffer.type(), strides));
  if (args.dst == nullptr) {
    args.dst_size = needed;
    return {};
  }
  if (args.dst_size < needed) {
    return invalidArgument("PJRT_Buffer_ToHostBuffer: `dst_size` is ", args.dst_size,
                           " bytes, the array needs ", needed);
  }
  ISTHMUS_ASSIGN_OR_RETURN(Event event, buffer.copyToHost(args.dst, args.dst_size, strides));
  args.event = toHandle(std::move(event));
  return {};
}

Status bufferCopyRawToHost(PJRT_Buffer_CopyRawToHost_Args& args) {
  args.event = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  if (args.transfer_size != 0) ISTHMUS_REQUIRE(args, dst);
  args.event =
      toHandle(fromHandle(args.buffer).copyRawToHost(args.dst, args.offset, args.transfer_size));
  return {};
}

// A raw copy that waits for its destination.
struct RawCopyFuture {
  BufferRef buffer;
  int64_t offset;
  int64_t bytes;
  Promise done;
};

// Runs in the caller's code, so nothing may leave it.
void rawCopyDestinationReady(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args) noexcept {
  if (args == nullptr || args->callback_data == nullptr) return;
  std::unique_ptr<RawCopyFuture> copy(static_cast<RawCopyFuture*>(args->callback_data));
  try {
    Status status =
        statusFromParts(args->error_code, args->error_message, args->error_message_size);
    if (status.ok() && args->dst == nullptr && copy->bytes != 0) {
      status = invalidArgument("PJRT_Buffer_CopyRawToHostFuture: `dst` is null");
    }
    if (!status.ok()) {
      copy->done.set(std::move(status));
      return;
    }
    copy->buffer->copyRawToHost(args->dst, copy->offset, copy->bytes)
        .onReady([done = copy->done](const Status& result) { done.set(result); });
  } catch (...) {
    copy->done.set(Status(StatusCode::kResourceExhausted, "out of host memory"));
  }
}

Status bufferCopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args& args) {
  args.event = nullptr;
  args.callback_data = nullptr;
  args.future_ready_callback = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  // A buffer of its own over the same memory, since the caller may delete this one meanwhile.
  Buffer& buffer = fromHandle(args.buffer);
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef source, buffer.bitcast(buffer.type()));
  auto copy = std::make_unique<RawCopyFuture>(
      RawCopyFuture{std::move(source), args.offset, args.transfer_size, {}});
  args.event = toHandle(copy->done.event());
  args.callback_data = copy.release();
  args.future_ready_callback = &rawCopyDestinationReady;
  return {};
}

Status bufferCopyToDevice(PJRT_Buffer_CopyToDevice_Args& args) {
  args.dst_buffer = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_REQUIRE(args, dst_device);
  Device& device = fromHandle(args.dst_device);
  if (device.defaultMemory() == nullptr) {
    return unimplemented("a copy to device ", device.id(), ", which is in another process");
  }
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef copy,
                           fromHandle(args.buffer).copyToMemory(*device.defaultMemory()));
  args.dst_buffer = toHandle(std::move(copy));
  return {};
}

Status bufferCopyToMemory(PJRT_Buffer_CopyToMemory_Args& args) {
  args.dst_buffer = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_REQUIRE(args, dst_memory);
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef copy,
                           fromHandle(args.buffer).copyToMemory(fromHandle(args.dst_memory)));
  args.dst_buffer = toHandle(std::move(copy));
  return {};
}

Status bufferBitcast(PJRT_Buffer_Bitcast_Args& args) {
  args.out_buffer = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, toDeviceArrayType(args.element_type, args.dims,
                                                             args.num_dims, args.device_layout));
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef out, fromHandle(args.buffer).bitcast(std::move(type)));
  args.out_buffer = toHandle(std::move(out));
  return {};
}

void donationDependencyReady(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args) noexcept {
  if (args == nullptr || args->callback_data == nullptr) return;
  std::unique_ptr<Promise> promise(static_cast<Promise*>(args->callback_data));
  try {
    promise->set(statusFromParts(args->error_code, args->error_message, args->error_message_size));
  } catch (...) {
    promise->set(Status(StatusCode::kResourceExhausted, "out of host memory"));
  }
}

Status bufferDonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args& args) {
  args.callback_data = nullptr;
  args.dependency_ready_callback = nullptr;
  args.out_buffer = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  auto dependency = std::make_unique<Promise>(Promise::ofCaller());
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef out, fromHandle(args.buffer).donateAfter(dependency->event()));
  args.out_buffer = toHandle(std::move(out));
  args.callback_data = dependency.release();
  args.dependency_ready_callback = &donationDependencyReady;
  return {};
}

}  // namespace

void bindBufferTransfers(PJRT_Api& api) {
  api.PJRT_Buffer_ToHostBuffer = kEntry<&bufferToHostBuffer>;
  api.PJRT_Buffer_CopyRawToHost = kEntry<&bufferCopyRawToHost>;
  api.PJRT_Buffer_CopyRawToHostFuture = kEntry<&bufferCopyRawToHostFuture>;
  api.PJRT_Buffer_CopyToDevice = kEntry<&bufferCopyToDevice>;
  api.PJRT_Buffer_CopyToMemory = kEntry<&bufferCopyToMemory>;
  api.PJRT_Buffer_Bitcast = kEntry<&bufferBitcast>;
  api.PJRT_Buffer_DonateWithControlDependency = kEntry<&bufferDonateWithControlDependency>;
}

}  // namespace isthmus::pjrt
