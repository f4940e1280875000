// Buffers: copies from and to the host, layouts, deletion, sharing.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <numeric>

#include "conformance/check.h"

namespace isthmus::conformance {

ISTHMUS_CHECK(buffer, round_trip, kRuns, "what is copied to a device comes back as it was") {
  const HostArray array = HostArray::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  s.expectEqual(array, s.toHost(s.fromHost(array)));
}

ISTHMUS_CHECK(buffer, metadata, kRuns, "a buffer knows its type, dimensions, bytes and device") {
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {5, 7}));
  auto type = make<PJRT_Buffer_ElementType_Args>();
  type.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_ElementType, type);
  s.expect(type.type == PJRT_Buffer_Type_F32, "f32", nameOf(type.type));
  auto dims = make<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_Dimensions, dims);
  s.expect(dims.num_dims == 2 && dims.dims[0] == 5 && dims.dims[1] == 7, "dimensions 5, 7",
           "others");
  auto unpadded = make<PJRT_Buffer_UnpaddedDimensions_Args>();
  unpadded.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_UnpaddedDimensions, unpadded);
  s.expect(unpadded.num_dims == 2 && unpadded.unpadded_dims[0] == 5, "the same without padding",
           "others");
  auto size = make<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  size.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes, size);
  s.expect(size.on_device_size_in_bytes >= 140, "at least 140 bytes",
           std::to_string(size.on_device_size_in_bytes));
  auto device = make<PJRT_Buffer_Device_Args>();
  device.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_Device, device);
  s.expect(device.device == s.device(), "the device that it was put on", "another");
  auto memory = make<PJRT_Buffer_Memory_Args>();
  memory.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_Memory, memory);
  s.expect(memory.memory == s.defaultMemory(s.device()), "the device's default memory", "another");
}

ISTHMUS_CHECK(buffer, no_dynamic_dimensions, kFramework,
              "an array from the host has static dimensions") {
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {5}));
  auto args = make<PJRT_Buffer_DynamicDimensionIndices_Args>();
  args.buffer = buffer.get();
  s.mayLack(&PJRT_Api::PJRT_Buffer_DynamicDimensionIndices, args);
  s.expect(args.num_dynamic_dims == 0, "no dynamic dimensions",
           std::to_string(args.num_dynamic_dims));
}

ISTHMUS_CHECK(buffer, everyday_types, kFramework,
              "arrays of JAX's everyday types come back as they were") {
  for (PJRT_Buffer_Type type :
       {PJRT_Buffer_Type_PRED, PJRT_Buffer_Type_S8, PJRT_Buffer_Type_S16, PJRT_Buffer_Type_S32,
        PJRT_Buffer_Type_S64, PJRT_Buffer_Type_U8, PJRT_Buffer_Type_U16, PJRT_Buffer_Type_U32,
        PJRT_Buffer_Type_U64, PJRT_Buffer_Type_F16, PJRT_Buffer_Type_BF16, PJRT_Buffer_Type_F32,
        PJRT_Buffer_Type_F64, PJRT_Buffer_Type_C64}) {
    const HostArray array = iota(type, {3, 5});
    s.expectEqual(array, s.toHost(s.fromHost(array)));
  }
}

ISTHMUS_CHECK(buffer, every_type, kComplete,
              "arrays of every element type come back as they were") {
  for (PJRT_Buffer_Type type : allTypes()) {
    const HostArray array = iota(type, {3, 5});
    s.expectEqual(array, s.toHost(s.fromHost(array)));
  }
}

ISTHMUS_CHECK(buffer, scalars_and_empty, kFramework,
              "scalars and arrays without elements are arrays") {
  for (const std::vector<int64_t>& dims :
       std::vector<std::vector<int64_t>>{{}, {0}, {3, 0, 2}, {1, 1, 1, 1, 1, 1}}) {
    const HostArray array = iota(PJRT_Buffer_Type_S32, dims);
    s.expectEqual(array, s.toHost(s.fromHost(array)));
  }
}

// Copies `data` with strides in bytes.
static Buffer fromStrided(
    Session& s, const void* data, std::vector<int64_t> dims, std::vector<int64_t> strides,
    PJRT_HostBufferSemantics semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) {
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = s.client();
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.byte_strides = strides.empty() ? nullptr : strides.data();
  args.num_byte_strides = strides.size();
  args.host_buffer_semantics = semantics;
  args.device = s.device();
  s.must(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  Buffer buffer(s, args.buffer);
  if (args.done_with_host_buffer) s.succeed("the copy", s.await(args.done_with_host_buffer));
  return buffer;
}

ISTHMUS_CHECK(buffer, transposed_host_array, kFramework,
              "byte strides say how the host's array lies") {
  const float data[6] = {1, 2, 3, 4, 5, 6};
  Buffer buffer = fromStrided(s, data, {3, 2}, {4, 12});
  s.expectEqual(HostArray::of<float>({3, 2}, {1, 4, 2, 5, 3, 6}), s.toHost(buffer));
}

ISTHMUS_CHECK(buffer, strided_host_array, kComplete, "strides may leave gaps") {
  const float data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  Buffer buffer = fromStrided(s, data, {2, 2}, {16, 8});
  s.expectEqual(HostArray::of<float>({2, 2}, {1, 3, 5, 7}), s.toHost(buffer));
}

ISTHMUS_CHECK(buffer, only_during_call, kFramework,
              "the host may change its array as soon as an ImmutableOnlyDuringCall call returns") {
  // Aligned, so that a plugin is tempted to use it in place.
  constexpr int64_t kCount = 1 << 16;
  std::unique_ptr<float, decltype(&std::free)> memory(
      static_cast<float*>(std::aligned_alloc(4096, kCount * sizeof(float))), &std::free);
  float* data = memory.get();
  std::iota(data, data + kCount, 0.f);
  const HostArray expected = HostArray::of<float>({kCount}, {data, data + kCount});
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = s.client();
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = expected.dims.data();
  args.num_dims = 1;
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args.device = s.device();
  s.must(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  std::fill(data, data + kCount, -1.f);
  Buffer buffer(s, args.buffer);
  if (args.done_with_host_buffer) s.succeed("the copy", s.await(args.done_with_host_buffer));
  s.expectEqual(expected, s.toHost(buffer));
}

ISTHMUS_CHECK(
    buffer, until_transfer_completes, kFramework,
    "done_with_host_buffer of ImmutableUntilTransferCompletes says when the host may write") {
  std::vector<float> data(1 << 16, 3.f);
  const HostArray expected = HostArray::of<float>({1 << 16}, data);
  Buffer buffer = fromStrided(s, data.data(), {1 << 16}, {},
                              PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  std::fill(data.begin(), data.end(), -1.f);
  s.expectEqual(expected, s.toHost(buffer));
}

ISTHMUS_CHECK(buffer, into_memory, kFramework,
              "a buffer can be put into a memory instead of a device") {
  const HostArray array = iota(PJRT_Buffer_Type_F32, {4});
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = s.client();
  args.data = array.bytes.data();
  args.type = array.type;
  args.dims = array.dims.data();
  args.num_dims = 1;
  args.memory = s.defaultMemory(s.device());
  s.must(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args);
  Buffer buffer(s, args.buffer);
  if (args.done_with_host_buffer) s.succeed("the copy", s.await(args.done_with_host_buffer));
  s.expectEqual(array, s.toHost(buffer));
}

ISTHMUS_CHECK(buffer, column_major_copy, kFramework,
              "a copy to the host has the layout that is asked for") {
  Buffer buffer = s.fromHost(HostArray::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const int64_t minorToMajor[2] = {0, 1};
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled.struct_size = kPjrtStructSize<PJRT_Buffer_MemoryLayout_Tiled>;
  layout.tiled.minor_to_major = minorToMajor;
  layout.tiled.minor_to_major_size = 2;
  float data[6] = {};
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer.get();
  args.host_layout = &layout;
  args.dst = data;
  args.dst_size = sizeof(data);
  s.mayLack(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args);
  if (args.event) s.succeed("the copy", s.await(args.event));
  s.expectEqual(HostArray::of<float>({6}, {1, 4, 2, 5, 3, 6}),
                HostArray::of<float>({6}, {data, data + 6}));
}

ISTHMUS_CHECK(buffer, small_destination, kFramework,
              "a destination that is too small is refused, untouched") {
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {4}));
  char data[64];
  std::memset(data, 0x5A, sizeof(data));
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer.get();
  args.dst = data;
  args.dst_size = 15;
  Outcome outcome = s.call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args);
  if (outcome.ok() && args.event) outcome = s.await(args.event);
  s.refuse("PJRT_Buffer_ToHostBuffer", outcome, "for 15 bytes of 16");
  for (size_t i = 15; i < sizeof(data); ++i)
    s.expect(data[i] == 0x5A, "no byte past dst_size written", "a write");
}

ISTHMUS_CHECK(buffer, delete_is_final, kFramework,
              "a deleted buffer says so, can be deleted again, and cannot be read") {
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {4}));
  s.expect(!s.isDeleted(buffer), "a new buffer that is not deleted", "deleted");
  auto args = make<PJRT_Buffer_Delete_Args>();
  args.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_Delete, args);
  s.expect(s.isDeleted(buffer), "deleted", "not deleted");
  s.must(&PJRT_Api::PJRT_Buffer_Delete, args);
  HostArray array;
  s.refuse("copying to the host", s.tryToHost(buffer.get(), &array), "from a deleted buffer");
}

ISTHMUS_CHECK(buffer, ready_event, kRuns, "the ready event of a buffer comes") {
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {4}));
  s.succeed("becoming ready", s.awaitReady(buffer));
}

ISTHMUS_CHECK(buffer, copy_raw_to_host, kFramework,
              "a part of a buffer's bytes can be read, and no more") {
  Buffer buffer = s.fromHost(HostArray::of<float>({4}, {1, 2, 3, 4}));
  float part[2] = {};
  auto args = make<PJRT_Buffer_CopyRawToHost_Args>();
  args.buffer = buffer.get();
  args.dst = part;
  args.offset = 4;
  args.transfer_size = 8;
  s.mayLack(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
  if (args.event) s.succeed("the copy", s.await(args.event));
  s.expect(part[0] == 2 && part[1] == 3, "elements 1 and 2", "others");
  args.offset = 12;
  args.event = nullptr;
  Outcome outcome = s.call(&PJRT_Api::PJRT_Buffer_CopyRawToHost, args);
  if (outcome.ok() && args.event) outcome = s.await(args.event);
  s.refuse("PJRT_Buffer_CopyRawToHost", outcome, "past the end");
}

ISTHMUS_CHECK(buffer, pointer_on_cpu, kFramework,
              "the pointer of a buffer in the host's memory is where its elements are") {
  const HostArray array = iota(PJRT_Buffer_Type_F32, {4});
  Buffer buffer = s.fromHost(array);
  s.succeed("becoming ready", s.awaitReady(buffer));
  auto where = make<PJRT_Buffer_IsOnCpu_Args>();
  where.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_IsOnCpu, where);
  if (!where.is_on_cpu) throw Skip("the device's memory is not the host's");
  auto args = make<PJRT_Buffer_UnsafePointer_Args>();
  args.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_UnsafePointer, args);
  s.expect(std::memcmp(reinterpret_cast<const void*>(args.buffer_pointer), array.bytes.data(),
                       array.bytes.size()) == 0,
           "the elements", "something else");
}

ISTHMUS_CHECK(buffer, external_reference, kFramework,
              "memory with an external reference outlives its buffer's deletion") {
  const HostArray array = iota(PJRT_Buffer_Type_F32, {1024});
  Buffer buffer = s.fromHost(array);
  s.succeed("becoming ready", s.awaitReady(buffer));
  auto where = make<PJRT_Buffer_IsOnCpu_Args>();
  where.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_IsOnCpu, where);
  if (!where.is_on_cpu) throw Skip("the device's memory is not the host's");
  auto hold = make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
  hold.buffer = buffer.get();
  s.mayLack(&PJRT_Api::PJRT_Buffer_IncreaseExternalReferenceCount, hold);
  auto pointer = make<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  pointer.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_OpaqueDeviceMemoryDataPointer, pointer);
  auto remove = make<PJRT_Buffer_Delete_Args>();
  remove.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_Delete, remove);
  // What would take the memory if it were free.
  for (int i = 0; i < 8; ++i) s.fromHost(iota(PJRT_Buffer_Type_S32, {1024}));
  s.expect(std::memcmp(pointer.device_memory_ptr, array.bytes.data(), array.bytes.size()) == 0,
           "the elements after PJRT_Buffer_Delete", "something else");
  auto release = make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
  release.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount, release);
  s.mustFail(&PJRT_Api::PJRT_Buffer_DecreaseExternalReferenceCount, release, "for a count of zero");
}

ISTHMUS_CHECK(buffer, copy_to_device, kComplete, "a copy on another device has the same elements") {
  const HostArray array = iota(PJRT_Buffer_Type_F32, {3, 3});
  Buffer buffer = s.fromHost(array);
  auto args = make<PJRT_Buffer_CopyToDevice_Args>();
  args.buffer = buffer.get();
  args.dst_device = s.device(1);
  s.must(&PJRT_Api::PJRT_Buffer_CopyToDevice, args);
  Buffer copy(s, args.dst_buffer);
  auto where = make<PJRT_Buffer_Device_Args>();
  where.buffer = copy.get();
  s.must(&PJRT_Api::PJRT_Buffer_Device, where);
  s.expect(where.device == s.device(1), "the other device", "another");
  buffer.reset();  // the copy must not need it
  s.expectEqual(array, s.toHost(copy));
}

ISTHMUS_CHECK(buffer, copy_to_memory, kComplete,
              "a copy in any memory of the device has the same elements") {
  const HostArray array = iota(PJRT_Buffer_Type_F32, {3, 3});
  Buffer buffer = s.fromHost(array);
  auto memories = make<PJRT_Device_AddressableMemories_Args>();
  memories.device = s.device();
  s.must(&PJRT_Api::PJRT_Device_AddressableMemories, memories);
  for (size_t i = 0; i < memories.num_memories; ++i) {
    if (memories.memories[i] == s.defaultMemory(s.device())) continue;
    auto args = make<PJRT_Buffer_CopyToMemory_Args>();
    args.buffer = buffer.get();
    args.dst_memory = memories.memories[i];
    s.mayLack(&PJRT_Api::PJRT_Buffer_CopyToMemory, args);
    Buffer copy(s, args.dst_buffer);
    s.expectEqual(array, s.toHost(copy));
  }
}

ISTHMUS_CHECK(buffer, refuses_negative_dimensions, kFramework,
              "dimensions are checked before they are believed") {
  const float data[4] = {};
  for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
           {-4}, {int64_t{1} << 40, int64_t{1} << 40}, {INT64_MAX}, {-2, -2}}) {
    auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = s.client();
    args.data = data;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.device = s.device();
    s.mustFail(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args,
               "for a first dimension of " + std::to_string(dims[0]));
  }
}

ISTHMUS_CHECK(buffer, refuses_unknown_types, kComplete,
              "an element type that no version has is refused") {
  const float data[4] = {};
  const int64_t dims[1] = {4};
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = s.client();
  args.data = data;
  args.type = static_cast<PJRT_Buffer_Type>(999);
  args.dims = dims;
  args.num_dims = 1;
  args.device = s.device();
  s.mustFail(&PJRT_Api::PJRT_Client_BufferFromHostBuffer, args, "for type 999");
}

ISTHMUS_CHECK(event, callback_once, kFramework,
              "OnReady calls back exactly once, without error on success") {
  struct State {
    std::atomic<int> calls{0};
    std::atomic<bool> failed{false};
    const Plugin* plugin;
  } state;
  state.plugin = &s.plugin();
  Buffer buffer = s.fromHost(iota(PJRT_Buffer_Type_F32, {4}));
  auto ready = make<PJRT_Buffer_ReadyEvent_Args>();
  ready.buffer = buffer.get();
  s.must(&PJRT_Api::PJRT_Buffer_ReadyEvent, ready);
  Event event(s, ready.event);
  auto args = make<PJRT_Event_OnReady_Args>();
  args.event = event.get();
  args.user_arg = &state;
  args.callback = [](PJRT_Error* error, void* arg) {
    auto& state = *static_cast<State*>(arg);
    state.failed = state.failed || !state.plugin->consume(error).ok();
    ++state.calls;
  };
  s.must(&PJRT_Api::PJRT_Event_OnReady, args);
  auto await = make<PJRT_Event_Await_Args>();
  await.event = event.get();
  s.must(&PJRT_Api::PJRT_Event_Await, await);
  for (int i = 0; i < 2000 && state.calls == 0; ++i) {
    timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  s.expect(state.calls == 1, "one call", std::to_string(state.calls.load()));
  s.expect(!state.failed, "no error", "an error");
  auto isReady = make<PJRT_Event_IsReady_Args>();
  isReady.event = event.get();
  s.must(&PJRT_Api::PJRT_Event_IsReady, isReady);
  s.expect(isReady.is_ready, "ready after Await", "not ready");
}

ISTHMUS_CHECK(event, error_reaches_waiters, kComplete,
              "an event that is set with an error gives code and message to who waits") {
  auto create = make<PJRT_Event_Create_Args>();
  s.mayLack(&PJRT_Api::PJRT_Event_Create, create);
  Event event(s, create.event);
  auto isReady = make<PJRT_Event_IsReady_Args>();
  isReady.event = event.get();
  s.must(&PJRT_Api::PJRT_Event_IsReady, isReady);
  s.expect(!isReady.is_ready, "not ready before it is set", "ready");
  auto set = make<PJRT_Event_Set_Args>();
  set.event = event.get();
  set.error_code = PJRT_Error_Code_DATA_LOSS;
  set.error_message = "it is gone";
  set.error_message_size = 10;
  s.must(&PJRT_Api::PJRT_Event_Set, set);
  auto await = make<PJRT_Event_Await_Args>();
  await.event = event.get();
  const Outcome outcome = s.call(&PJRT_Api::PJRT_Event_Await, await);
  s.expect(outcome.code == PJRT_Error_Code_DATA_LOSS, "DATA_LOSS", nameOf(outcome.code));
  s.expect(outcome.message.find("it is gone") != std::string::npos, "the message",
           "'" + outcome.message + "'");
}

}  // namespace isthmus::conformance
