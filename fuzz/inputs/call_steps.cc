// The calls of one buffer, and what must come of them.
#include <algorithm>
#include <cstring>

#include "fuzz/inputs/call_sequence.h"

namespace isthmus::fuzz {
namespace {

constexpr int64_t kDims[] = {kElements};
constexpr int64_t kBytes = kElements * sizeof(float);

Values valuesOf(const float* data) {
  Values values;
  for (size_t i = 0; i < kElements; ++i) values[i] = data[i];
  return values;
}

}  // namespace

CallSequence::Buffer* CallSequence::pick() {
  if (buffers_.empty()) fromHost();
  return &buffers_[number(0, static_cast<int>(buffers_.size()) - 1)];
}

float* CallSequence::hostMemory() {
  auto& place = memory_.emplace_back(std::make_unique<std::array<float, kElements>>());
  for (float& value : *place) value = static_cast<float>(number(-8, 8));
  return place->data();
}

void CallSequence::add(PJRT_Buffer* handle, Content::Ref content, size_t device, bool isFloat) {
  expect(handle != nullptr, "a call that succeeds gives a buffer");
  buffers_.push_back({handle, std::move(content), device, isFloat});
}

void CallSequence::watch(PJRT_Event* event, Content::Ref content, float* destination, size_t first,
                         size_t count) {
  expect(event != nullptr, "a call that succeeds gives an event");
  if (destination != nullptr) outlast(event);
  watched_.push_back({event, std::move(content), destination, first, count});
}

void CallSequence::outlast(PJRT_Event* event) {
  auto args = make<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = this;
  args.callback = [](PJRT_Error* error, void* self) {
    consume(error);
    ++static_cast<CallSequence*>(self)->ends_;
  };
  expectOk(call(api().PJRT_Event_OnReady, args), "Event_OnReady");
  ++expectedEnds_;
}

bool CallSequence::accepted(const Outcome& outcome, bool isLegal, const char* what) {
  if (outcome.ok() != isLegal) {
    std::fprintf(stderr, "%s: %s: %s\n", what, isLegal ? "refused" : "accepted although not legal",
                 outcome.message.c_str());
    std::abort();
  }
  return isLegal;
}

void CallSequence::fromHost() {
  const float* data = hostMemory();
  const size_t where = number(0, kNumDevices - 1);
  const bool isFloat = !chance(8), isInHostMemory = chance(6);
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = world_.client;
  args.data = data;
  args.type = isFloat ? PJRT_Buffer_Type_F32 : PJRT_Buffer_Type_S32;
  args.dims = kDims;
  args.num_dims = 1;
  args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(number(0, 2));
  if (isInHostMemory) {
    args.memory = world_.hostMemories[where];
  } else {
    args.device = device(where);
  }
  expectOk(call(api().PJRT_Client_BufferFromHostBuffer, args), "BufferFromHostBuffer");
  auto content = Content::of(valuesOf(data));
  lent_.push_back({data, content});
  add(args.buffer, content, where, isFloat);
  // With the last semantics, only the end of the buffer ends the use of the host's memory; or of
  // the copy, which a device may not have made when the buffer is gone.
  outlast(args.done_with_host_buffer);
  if (args.host_buffer_semantics != PJRT_HostBufferSemantics_kImmutableZeroCopy) {
    watch(args.done_with_host_buffer, content);
  } else {
    auto drop = make<PJRT_Event_Destroy_Args>();
    drop.event = args.done_with_host_buffer;
    expectOk(call(api().PJRT_Event_Destroy, drop), "Event_Destroy");
  }
}

void CallSequence::viewOfMemory() {
  if (!world_.isOnHost) return fromHost();
  float* data = hostMemory();
  const size_t where = number(0, kNumDevices - 1);
  auto args = make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = world_.client;
  args.device_buffer_ptr = data;
  args.dims = kDims;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = device(where);
  args.on_delete_callback = [](void*, void* self) {
    ++static_cast<CallSequence*>(self)->deletions_;
  };
  args.on_delete_callback_arg = this;
  expectOk(call(api().PJRT_Client_CreateViewOfDeviceBuffer, args), "CreateViewOfDeviceBuffer");
  ++expectedDeletions_;
  add(args.buffer, Content::of(valuesOf(data)), where);
}

void CallSequence::errorBuffer() {
  const size_t where = number(0, kNumDevices - 1);
  auto args = make<PJRT_Client_CreateErrorBuffer_Args>();
  args.client = world_.client;
  args.error_code = static_cast<PJRT_Error_Code>(number(1, 16));
  args.error_message = "made to fail";
  args.error_message_size = 12;
  args.shape_dims = kDims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.memory = world_.memories[where];
  expectOk(call(api().PJRT_Client_CreateErrorBuffer, args), "CreateErrorBuffer");
  add(args.buffer, Content::error(), where);
}

void CallSequence::uninitialized() {
  const size_t where = number(0, kNumDevices - 1);
  auto args = make<PJRT_Client_CreateUninitializedBuffer_Args>();
  args.client = world_.client;
  args.shape_dims = kDims;
  args.shape_num_dims = 1;
  args.shape_element_type = PJRT_Buffer_Type_F32;
  args.device = device(where);
  expectOk(call(api().PJRT_Client_CreateUninitializedBuffer, args), "CreateUninitializedBuffer");
  add(args.buffer, Content::of({}), where);
}

void CallSequence::deleteBuffer() {
  Buffer& buffer = *pick();
  auto args = make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_Delete, args), "Buffer_Delete");
  buffer.isDeleted = true;
}

void CallSequence::destroy(Buffer& buffer) {
  for (; buffer.references > 0; --buffer.references) {
    auto drop = make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
    drop.buffer = buffer.handle;
    expectOk(call(api().PJRT_Buffer_DecreaseExternalReferenceCount, drop), "drop a reference");
  }
  auto args = make<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_Destroy, args), "Buffer_Destroy");
}

void CallSequence::destroyBuffer() {
  Buffer* buffer = pick();
  destroy(*buffer);
  buffers_.erase(buffers_.begin() + (buffer - buffers_.data()));
}

void CallSequence::copyToMemory() {
  const Buffer source = *pick();
  const size_t where = number(0, kNumDevices - 1);
  if (chance(2)) {
    auto args = make<PJRT_Buffer_CopyToDevice_Args>();
    args.buffer = source.handle;
    args.dst_device = device(where);
    if (accepted(call(api().PJRT_Buffer_CopyToDevice, args), !source.isDeleted, "CopyToDevice")) {
      add(args.dst_buffer, source.content, where, source.isFloat);
    }
    return;
  }
  auto args = make<PJRT_Buffer_CopyToMemory_Args>();
  args.buffer = source.handle;
  args.dst_memory = (chance(3) ? world_.hostMemories : world_.memories)[where];
  if (accepted(call(api().PJRT_Buffer_CopyToMemory, args), !source.isDeleted, "CopyToMemory")) {
    add(args.dst_buffer, source.content, where, source.isFloat);
  }
}

void CallSequence::toHost() {
  const Buffer source = *pick();
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = source.handle;
  expectOk(call(api().PJRT_Buffer_ToHostBuffer, args), "ToHostBuffer for the size");
  expect(args.dst_size == kBytes, "ToHostBuffer says the size");
  float* destination = hostMemory();
  args.dst = destination;
  args.dst_size = chance(8) ? kBytes - 1 : kBytes;
  const bool isLegal = !source.isDeleted && args.dst_size == kBytes;
  if (accepted(call(api().PJRT_Buffer_ToHostBuffer, args), isLegal, "ToHostBuffer")) {
    watch(args.event, source.content, destination, 0, kElements);
  }
}

void CallSequence::rawToHost() {
  const Buffer source = *pick();
  const int first = number(-1, kElements + 1), count = number(0, kElements + 1);
  const bool isLegal =
      !source.isDeleted && first >= 0 && first + count <= static_cast<int>(kElements);
  float* destination = hostMemory();
  auto args = make<PJRT_Buffer_CopyRawToHost_Args>();
  args.buffer = source.handle;
  args.dst = destination;
  args.offset = first * static_cast<int>(sizeof(float));
  args.transfer_size = count * static_cast<int>(sizeof(float));
  expectOk(call(api().PJRT_Buffer_CopyRawToHost, args), "CopyRawToHost");
  watch(args.event, isLegal ? source.content : Content::error(), destination, isLegal ? first : 0,
        isLegal ? count : 0);
}

void CallSequence::rawToHostLater() {
  const Buffer source = *pick();
  auto args = make<PJRT_Buffer_CopyRawToHostFuture_Args>();
  args.buffer = source.handle;
  args.offset = 0;
  args.transfer_size = kBytes;
  if (!accepted(call(api().PJRT_Buffer_CopyRawToHostFuture, args), !source.isDeleted,
                "CopyRawToHostFuture")) {
    return;
  }
  Duty duty{Duty::kRawCopy, Content::promise()};
  duty.data = args.callback_data;
  duty.destined = args.future_ready_callback;
  duty.destination = hostMemory();
  watch(args.event, Content::after({source.content, duty.content}), duty.destination, 0, kElements);
  duties_.push_back(duty);
}

void CallSequence::bitcast() {
  const Buffer source = *pick();
  const int64_t flat[] = {kElements}, square[] = {2, 2}, more[] = {kElements + 1};
  const int kind = number(0, 3);
  auto args = make<PJRT_Buffer_Bitcast_Args>();
  args.buffer = source.handle;
  args.element_type = kind == 1 ? PJRT_Buffer_Type_S32 : PJRT_Buffer_Type_F32;
  args.dims = kind == 2 ? square : kind == 3 ? more : flat;
  args.num_dims = kind == 2 ? 2 : 1;
  const bool isLegal = !source.isDeleted && kind != 3;
  if (accepted(call(api().PJRT_Buffer_Bitcast, args), isLegal, "Bitcast")) {
    add(args.out_buffer, source.content, source.device, kind == 0);
  }
}

void CallSequence::donateLater() {
  Buffer& source = *pick();
  auto args = make<PJRT_Buffer_DonateWithControlDependency_Args>();
  args.buffer = source.handle;
  if (!accepted(call(api().PJRT_Buffer_DonateWithControlDependency, args), !source.isDeleted,
                "DonateWithControlDependency")) {
    return;
  }
  source.isDeleted = true;
  Duty duty{Duty::kDonation, Content::promise()};
  duty.data = args.callback_data;
  duty.donated = args.dependency_ready_callback;
  auto content = Content::after({source.content, duty.content});
  duties_.push_back(duty);
  add(args.out_buffer, content, source.device, source.isFloat);
}

void CallSequence::reference() {
  Buffer& buffer = *pick();
  auto args = make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  args.buffer = buffer.handle;
  if (accepted(call(api().PJRT_Buffer_IncreaseExternalReferenceCount, args), !buffer.isDeleted,
               "IncreaseExternalReferenceCount")) {
    ++buffer.references;
  }
}

void CallSequence::dereference() {
  Buffer& buffer = *pick();
  auto args = make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  args.buffer = buffer.handle;
  if (accepted(call(api().PJRT_Buffer_DecreaseExternalReferenceCount, args), buffer.references > 0,
               "DecreaseExternalReferenceCount")) {
    --buffer.references;
  }
}

void CallSequence::readPointer() {
  const Buffer buffer = *pick();
  // An alias has no memory before its promise is kept, and the call would wait for that.
  if (buffer.content->state() != State::kValue || isBlocked()) return;
  auto args = make<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  args.buffer = buffer.handle;
  const bool isLegal = !buffer.isDeleted || buffer.references > 0;
  if (!accepted(call(api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args), isLegal,
                "a pointer")) {
    return;
  }
  expect(args.device_memory_ptr != nullptr, "a buffer has an address");
  if (buffer.references == 0 || !world_.isOnHost) return;
  // What is referenced does not change, whoever it was donated to.
  auto ready = make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_ReadyEvent, ready), "ReadyEvent");
  auto await = make<PJRT_Event_Await_Args>();
  await.event = ready.event;
  const bool isReady = call(api().PJRT_Event_Await, await).ok();
  expect(isReady == !buffer.isDeleted, "a buffer is ready unless it was deleted");
  auto drop = make<PJRT_Event_Destroy_Args>();
  drop.event = ready.event;
  expectOk(call(api().PJRT_Event_Destroy, drop), "Event_Destroy");
  if (!isReady) return;
  float now[kElements];
  std::memcpy(now, args.device_memory_ptr, sizeof(now));
  const Values values = buffer.content->values();
  for (size_t i = 0; i < kElements; ++i) {
    expect(!values[i] || *values[i] == now[i], "memory holds what the buffer holds");
  }
}

void CallSequence::readyEvent() {
  const Buffer buffer = *pick();
  auto args = make<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_ReadyEvent, args), "ReadyEvent");
  watch(args.event, buffer.isDeleted ? Content::error() : buffer.content);
}

void CallSequence::inspect() {
  const Buffer buffer = *pick();
  auto deleted = make<PJRT_Buffer_IsDeleted_Args>();
  deleted.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_IsDeleted, deleted), "IsDeleted");
  expect(deleted.is_deleted == buffer.isDeleted,
         "IsDeleted says so after delete and donation only");
  auto where = make<PJRT_Buffer_Device_Args>();
  where.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_Device, where), "Buffer_Device");
  expect(where.device == device(buffer.device), "a buffer is where it was put");
  auto size = make<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  size.buffer = buffer.handle;
  expectOk(call(api().PJRT_Buffer_OnDeviceSizeInBytes, size), "OnDeviceSizeInBytes");
  expect(size.on_device_size_in_bytes == kBytes, "a buffer has its size");
}

}  // namespace isthmus::fuzz
