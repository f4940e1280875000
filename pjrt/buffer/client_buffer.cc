// The entries of PJRT_Client that make buffers.
#include <memory>
#include <optional>
#include <span>

#include "isthmus/device_optional.h"
#include "pjrt/bindings.h"
#include "pjrt/buffer/layout.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/handles.h"

// What fulfils an alias buffer; consumed by PJRT_Client_FulfillAliasBuffer.
struct PJRT_FulfillAliasBufferCallback {
  std::unique_ptr<isthmus::AliasPromise> promise;
};

namespace isthmus::pjrt {
namespace {

// `memory`, or the default memory of `device`.
StatusOr<Memory*> targetMemory(std::string_view entry, const PJRT_Client* client,
                               PJRT_Device* device, PJRT_Memory* memory) {
  Memory* target = nullptr;
  if (memory != nullptr) {
    target = &fromHandle(memory);
  } else if (device != nullptr) {
    target = fromHandle(device).defaultMemory();
    if (target == nullptr) {
      return invalidArgument(entry, ": device ", fromHandle(device).id(),
                             " is not addressable in this process");
    }
  } else {
    return invalidArgument(entry, ": neither `device` nor `memory` is given");
  }
  if (&target->client() != &client->client) {
    return invalidArgument(entry, ": the device or memory is of another client");
  }
  return target;
}

// Of the entries that describe an array by fields `shape_…`.
template <typename Args>
StatusOr<ArrayType> typeOfShape(const Args& args) {
  return toDeviceArrayType(args.shape_element_type, args.shape_dims, args.shape_num_dims,
                           args.shape_layout);
}

Status clientBufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args& args) {
  args.done_with_host_buffer = nullptr;
  args.buffer = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Memory * memory, targetMemory("PJRT_Client_BufferFromHostBuffer",
                                                         args.client, args.device, args.memory));
  HostArray array;
  ISTHMUS_ASSIGN_OR_RETURN(
      array.type, toDeviceArrayType(args.type, args.dims, args.num_dims, args.device_layout));
  if (array.type.sizeBytes() != 0) ISTHMUS_REQUIRE(args, data);
  array.data = args.data;
  if (args.byte_strides != nullptr) {
    if (args.num_byte_strides != args.num_dims) {
      return invalidArgument("PJRT_Client_BufferFromHostBuffer: ", args.num_byte_strides,
                             " strides for ", array.type.toString());
    }
    array.byteStrides = std::span(args.byte_strides, args.num_byte_strides);
  }
  auto semantics = static_cast<int32_t>(args.host_buffer_semantics);
  if (semantics < 0 || semantics > static_cast<int32_t>(HostBufferSemantics::kMutableZeroCopy)) {
    return invalidArgument("unknown host buffer semantics ", semantics);
  }
  array.semantics = static_cast<HostBufferSemantics>(semantics);
  ISTHMUS_ASSIGN_OR_RETURN(Client::FromHost result,
                           args.client->client.bufferFromHost(*memory, array));
  args.done_with_host_buffer = toHandle(std::move(result.hostMemoryDone));
  args.buffer = toHandle(std::move(result.buffer));
  return {};
}

Status clientCreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args& args) {
  using Args = PJRT_Client_CreateViewOfDeviceBuffer_Args;
  args.buffer = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(
      Memory * memory,
      targetMemory("PJRT_Client_CreateViewOfDeviceBuffer", args.client, args.device,
                   getOr<Args, PJRT_Memory*>(args, &Args::memory, nullptr)));
  ISTHMUS_ASSIGN_OR_RETURN(
      ArrayType type, toDeviceArrayType(args.element_type, args.dims, args.num_dims, args.layout));
  if (type.sizeBytes() != 0) ISTHMUS_REQUIRE(args, device_buffer_ptr);
  DeviceQueue* queue = memory->queue();
  if (ExternalStreams* streams = queue != nullptr ? queue->externalStreams() : nullptr) {
    // Whoever computes the contents has let this stream wait for that.
    ISTHMUS_RETURN_IF_ERROR(streams->await(args.stream));
  }
  std::function<void()> onDelete;
  if (args.on_delete_callback != nullptr) {
    onDelete = [callback = args.on_delete_callback, data = args.device_buffer_ptr,
                userArg = args.on_delete_callback_arg] { callback(data, userArg); };
  }
  ISTHMUS_ASSIGN_OR_RETURN(
      BufferRef buffer, args.client->client.viewOfMemory(
                            *memory, std::move(type), args.device_buffer_ptr, std::move(onDelete)));
  args.buffer = toHandle(std::move(buffer));
  return {};
}

Status clientCreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args& args) {
  args.buffer = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Memory * memory, targetMemory("PJRT_Client_CreateUninitializedBuffer",
                                                         args.client, args.device, args.memory));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, typeOfShape(args));
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef buffer,
                           args.client->client.uninitialized(*memory, std::move(type)));
  args.buffer = toHandle(std::move(buffer));
  return {};
}

Status clientCreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args& args) {
  args.buffer = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Memory * memory, targetMemory("PJRT_Client_CreateErrorBuffer",
                                                         args.client, nullptr, args.memory));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, typeOfShape(args));
  Status error = statusFromParts(args.error_code, args.error_message, args.error_message_size);
  if (error.ok()) return invalidArgument("PJRT_Client_CreateErrorBuffer: the error code is OK");
  ISTHMUS_ASSIGN_OR_RETURN(BufferRef buffer, args.client->client.errorBuffer(
                                                 *memory, std::move(type), std::move(error)));
  args.buffer = toHandle(std::move(buffer));
  return {};
}

Status clientCreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args& args) {
  args.alias_buffer = nullptr;
  args.fulfill_alias_buffer_cb = nullptr;
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_ASSIGN_OR_RETURN(Memory * memory, targetMemory("PJRT_Client_CreateAliasBuffer",
                                                         args.client, nullptr, args.memory));
  ISTHMUS_ASSIGN_OR_RETURN(ArrayType type, typeOfShape(args));
  auto [buffer, promise] =
      AliasPromise::make(*memory, std::make_shared<const ArrayType>(std::move(type)));
  args.fulfill_alias_buffer_cb = new PJRT_FulfillAliasBufferCallback{std::move(promise)};
  args.alias_buffer = toHandle(std::move(buffer));
  return {};
}

Status clientFulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args& args) {
  ISTHMUS_REQUIRE(args, client);
  ISTHMUS_REQUIRE(args, fulfill_alias_buffer_cb);
  std::unique_ptr<PJRT_FulfillAliasBufferCallback> callback(args.fulfill_alias_buffer_cb);
  Status error = statusFromParts(args.status_code, args.error_message, args.error_message_size);
  if (!error.ok()) return callback->promise->fail(std::move(error));
  ISTHMUS_REQUIRE(args, buffer);
  return callback->promise->fulfill(fromHandle(args.buffer));
}

}  // namespace

void bindClientBuffers(PJRT_Api& api) {
  api.PJRT_Client_BufferFromHostBuffer = kEntry<&clientBufferFromHostBuffer>;
  api.PJRT_Client_CreateViewOfDeviceBuffer = kEntry<&clientCreateViewOfDeviceBuffer>;
  api.PJRT_Client_CreateUninitializedBuffer = kEntry<&clientCreateUninitializedBuffer>;
  api.PJRT_Client_CreateErrorBuffer = kEntry<&clientCreateErrorBuffer>;
  api.PJRT_Client_CreateAliasBuffer = kEntry<&clientCreateAliasBuffer>;
  api.PJRT_Client_FulfillAliasBuffer = kEntry<&clientFulfillAliasBuffer>;
}

}  // namespace isthmus::pjrt
