// Buffers through the function table.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "pjrt/testing/c_api_testing.h"

namespace isthmus::pjrt {
namespace {

class BufferTest : public CApiTest {
 protected:
  // An s32 array from host memory with strides; waits until the host memory is free again.
  PJRT_Buffer* fromHostStrided(const int32_t* data, std::vector<int64_t> dims,
                               std::vector<int64_t> strides, PJRT_HostBufferSemantics semantics) {
    auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client_;
    args.data = data;
    args.type = PJRT_Buffer_Type_S32;
    args.dims = dims.data();
    args.num_dims = dims.size();
    args.byte_strides = strides.data();
    args.num_byte_strides = strides.size();
    args.host_buffer_semantics = semantics;
    args.memory = memory("device");
    EXPECT_PJRT_OK(call(api_.PJRT_Client_BufferFromHostBuffer, args));
    if (semantics <= PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes) {
      EXPECT_PJRT_OK(finish(args.done_with_host_buffer));
    } else {
      auto destroy = make<PJRT_Event_Destroy_Args>();
      destroy.event = args.done_with_host_buffer;
      EXPECT_PJRT_OK(call(api_.PJRT_Event_Destroy, destroy));
    }
    return args.buffer;
  }

  std::vector<int32_t> toHostInts(PJRT_Buffer* buffer, PJRT_Buffer_MemoryLayout* layout = nullptr) {
    auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = buffer;
    args.host_layout = layout;
    EXPECT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, args));
    std::vector<int32_t> values(args.dst_size / sizeof(int32_t), -1);
    // Null would ask for the size.
    int32_t nothing;
    args.dst = values.empty() ? &nothing : values.data();
    EXPECT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, args));
    EXPECT_PJRT_OK(finish(args.event));
    return values;
  }

  Outcome addReference(PJRT_Buffer* buffer) {
    auto args = make<PJRT_Buffer_IncreaseExternalReferenceCount_Args>();
    args.buffer = buffer;
    return call(api_.PJRT_Buffer_IncreaseExternalReferenceCount, args);
  }
  Outcome dropReference(PJRT_Buffer* buffer) {
    auto args = make<PJRT_Buffer_DecreaseExternalReferenceCount_Args>();
    args.buffer = buffer;
    return call(api_.PJRT_Buffer_DecreaseExternalReferenceCount, args);
  }
  void* pointer(PJRT_Buffer* buffer) {
    auto args = make<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
    args.buffer = buffer;
    EXPECT_PJRT_OK(call(api_.PJRT_Buffer_OpaqueDeviceMemoryDataPointer, args));
    return args.device_memory_ptr;
  }
  Outcome deleteBuffer(PJRT_Buffer* buffer) {
    auto args = make<PJRT_Buffer_Delete_Args>();
    args.buffer = buffer;
    return call(api_.PJRT_Buffer_Delete, args);
  }
};

TEST_F(BufferTest, ReportsItsTypeAndPlace) {
  PJRT_Buffer* buffer = fromHost({41, 42, 43, 44}, 1);
  auto type = make<PJRT_Buffer_ElementType_Args>();
  type.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ElementType, type));
  EXPECT_EQ(type.type, PJRT_Buffer_Type_F32);
  auto dims = make<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Dimensions, dims));
  ASSERT_EQ(dims.num_dims, 1u);
  EXPECT_EQ(dims.dims[0], 4);
  auto size = make<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  size.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_OnDeviceSizeInBytes, size));
  EXPECT_EQ(size.on_device_size_in_bytes, 16u);
  auto where = make<PJRT_Buffer_Device_Args>();
  where.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Device, where));
  EXPECT_EQ(where.device, device(1));
  auto in = make<PJRT_Buffer_Memory_Args>();
  in.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Memory, in));
  EXPECT_EQ(in.memory, memory("device", 1));
  auto onCpu = make<PJRT_Buffer_IsOnCpu_Args>();
  onCpu.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_IsOnCpu, onCpu));
  EXPECT_TRUE(onCpu.is_on_cpu);
  EXPECT_EQ(toHost(buffer), (std::vector<float>{41, 42, 43, 44}));
  destroy(buffer);
}

TEST_F(BufferTest, LayoutIsRowMajor) {
  std::vector<int32_t> data(24);
  PJRT_Buffer* buffer = fromHostStrided(data.data(), {2, 3, 4}, {48, 16, 4},
                                        PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  auto args = make<PJRT_Buffer_GetMemoryLayout_Args>();
  args.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_GetMemoryLayout, args));
  ASSERT_EQ(args.layout.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
  EXPECT_EQ(
      std::vector<int64_t>(args.layout.tiled.minor_to_major, args.layout.tiled.minor_to_major + 3),
      (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(args.layout.tiled.num_tiles, 0u);
  destroy(buffer);
}

TEST_F(BufferTest, StridesOfEveryKindAreRead) {
  const std::vector<int32_t> data = {0, 1, 2, 3, 4, 5};
  struct Case {
    size_t start;
    std::vector<int64_t> dims, strides;
    std::vector<int32_t> expected;
  };
  const Case cases[] = {
      {0, {2, 3}, {12, 4}, {0, 1, 2, 3, 4, 5}},    // row-major
      {0, {2, 3}, {4, 8}, {0, 2, 4, 1, 3, 5}},     // column-major
      {5, {2, 3}, {-12, -4}, {5, 4, 3, 2, 1, 0}},  // reversed
      {1, {2, 3}, {0, 0}, {1, 1, 1, 1, 1, 1}},     // broadcast
      {1, {2, 2}, {12, 4}, {1, 2, 4, 5}},          // a part of a larger array
      {0, {0, 3}, {0, 0}, {}},                     // without elements
      {3, {}, {}, {3}},                            // a scalar
  };
  for (auto semantics : {PJRT_HostBufferSemantics_kImmutableOnlyDuringCall,
                         PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes,
                         PJRT_HostBufferSemantics_kImmutableZeroCopy}) {
    for (const Case& c : cases) {
      PJRT_Buffer* buffer = fromHostStrided(data.data() + c.start, c.dims, c.strides, semantics);
      EXPECT_EQ(toHostInts(buffer), c.expected) << "semantics " << semantics;
      destroy(buffer);
    }
  }
}

TEST_F(BufferTest, DataIsCopiedDuringTheCallIfItMustBe) {
  std::vector<float> data = {1, 2, 3, 4};
  PJRT_Buffer* buffer = fromHost(data);
  std::fill(data.begin(), data.end(), 0.0f);
  EXPECT_EQ(toHost(buffer), (std::vector<float>{1, 2, 3, 4}));
  destroy(buffer);
}

TEST_F(BufferTest, NarrowIntegersTakeOneByteEach) {
  std::vector<int8_t> data = {-8, 7, 0, 1, -1, 3};
  std::vector<int64_t> dims = {2, 3}, strides = {3, 1};
  auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client_;
  args.data = data.data();
  args.type = PJRT_Buffer_Type_S4;
  args.dims = dims.data();
  args.num_dims = 2;
  args.byte_strides = strides.data();
  args.num_byte_strides = 2;
  args.device = device();
  ASSERT_PJRT_OK(call(api_.PJRT_Client_BufferFromHostBuffer, args));
  EXPECT_PJRT_OK(finish(args.done_with_host_buffer));
  auto back = make<PJRT_Buffer_ToHostBuffer_Args>();
  back.src = args.buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, back));
  EXPECT_EQ(back.dst_size, 6u);
  std::vector<int8_t> out(6);
  back.dst = out.data();
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ToHostBuffer, back));
  EXPECT_PJRT_OK(finish(back.event));
  EXPECT_EQ(out, data);
  destroy(args.buffer);
}

// jaxlib leaves the sizes of the structures inside a layout at zero.
TEST_F(BufferTest, HostLayoutsAreWritten) {
  std::vector<int32_t> data = {0, 1, 2, 3, 4, 5};
  PJRT_Buffer* buffer = fromHostStrided(data.data(), {2, 3}, {12, 4},
                                        PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  auto layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  int64_t order[] = {0, 1};
  layout.tiled.minor_to_major = order;
  layout.tiled.minor_to_major_size = 2;
  EXPECT_EQ(toHostInts(buffer, &layout), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));

  layout = make<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Strides;
  int64_t strides[] = {16, 4};
  layout.strides.byte_strides = strides;
  layout.strides.num_byte_strides = 2;
  EXPECT_EQ(toHostInts(buffer, &layout), (std::vector<int32_t>{0, 1, 2, -1, 3, 4, 5}));

  strides[0] = -16;
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  args.host_layout = &layout;
  EXPECT_EQ(call(api_.PJRT_Buffer_ToHostBuffer, args).code, PJRT_Error_Code_INVALID_ARGUMENT);
  layout.strides.num_byte_strides = 1;
  EXPECT_EQ(call(api_.PJRT_Buffer_ToHostBuffer, args).code, PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(BufferTest, BadRequestsAreRefused) {
  std::vector<float> data(4);
  int64_t dim = 4;
  auto good = make<PJRT_Client_BufferFromHostBuffer_Args>();
  good.client = client_;
  good.data = data.data();
  good.type = PJRT_Buffer_Type_F32;
  good.dims = &dim;
  good.num_dims = 1;
  good.device = device();
  auto refused = [&](auto change) {
    auto args = good;
    change(args);
    Outcome outcome = call(api_.PJRT_Client_BufferFromHostBuffer, args);
    EXPECT_EQ(args.buffer, nullptr);
    return outcome.code == PJRT_Error_Code_INVALID_ARGUMENT;
  };
  int64_t negative = -1, huge = int64_t{1} << 62;
  EXPECT_TRUE(refused([](auto& args) { args.device = nullptr; }));
  EXPECT_TRUE(refused([](auto& args) { args.data = nullptr; }));
  EXPECT_TRUE(refused([](auto& args) { args.dims = nullptr; }));
  EXPECT_TRUE(refused([](auto& args) { args.type = PJRT_Buffer_Type_INVALID; }));
  EXPECT_TRUE(refused([](auto& args) { args.type = static_cast<PJRT_Buffer_Type>(999); }));
  EXPECT_TRUE(refused([&](auto& args) { args.dims = &negative; }));
  EXPECT_TRUE(refused([&](auto& args) { args.dims = &huge; }));
  EXPECT_TRUE(refused([&](auto& args) {
    args.byte_strides = &dim;
    args.num_byte_strides = 2;
  }));
  EXPECT_TRUE(refused(
      [](auto& args) { args.host_buffer_semantics = static_cast<PJRT_HostBufferSemantics>(9); }));
}

TEST_F(BufferTest, DeleteIsAtOnceAndTwiceIsFine) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  EXPECT_FALSE(isDeleted(buffer));
  EXPECT_PJRT_OK(deleteBuffer(buffer));
  EXPECT_TRUE(isDeleted(buffer));
  EXPECT_PJRT_OK(deleteBuffer(buffer));
  EXPECT_NE(awaitReady(buffer).message.find("deleted or donated"), std::string::npos);
  auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
  std::vector<float> out(4);
  args.src = buffer;
  args.dst = out.data();
  args.dst_size = 16;
  Outcome outcome = call(api_.PJRT_Buffer_ToHostBuffer, args);
  if (outcome.ok()) outcome = finish(args.event);
  EXPECT_FALSE(outcome.ok());
  destroy(buffer);
}

TEST_F(BufferTest, ExternalReferencesKeepTheMemory) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  EXPECT_EQ(dropReference(buffer).message,
            "Attempting to decrease reference on a buffer with zero reference count.");
  EXPECT_PJRT_OK(addReference(buffer));
  auto* data = static_cast<const float*>(pointer(buffer));
  ASSERT_NE(data, nullptr);
  EXPECT_PJRT_OK(deleteBuffer(buffer));
  EXPECT_EQ(data[3], 4.0f);
  EXPECT_PJRT_OK(dropReference(buffer));
  EXPECT_EQ(dropReference(buffer).code, PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(BufferTest, RawCopies) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  std::vector<float> out(2);
  auto args = make<PJRT_Buffer_CopyRawToHost_Args>();
  args.buffer = buffer;
  args.dst = out.data();
  args.offset = 4;
  args.transfer_size = 8;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyRawToHost, args));
  EXPECT_PJRT_OK(finish(args.event));
  EXPECT_EQ(out, (std::vector<float>{2, 3}));
  // The call succeeds; the error comes through the event.
  args.offset = 12;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyRawToHost, args));
  Outcome outcome = finish(args.event);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("Copy raw buffer called on buffer size 16 with invalid offset"),
            std::string::npos)
      << outcome.message;
  destroy(buffer);
}

TEST_F(BufferTest, RawCopyWaitsForItsDestination) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  auto args = make<PJRT_Buffer_CopyRawToHostFuture_Args>();
  args.buffer = buffer;
  args.offset = 8;
  args.transfer_size = 8;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyRawToHostFuture, args));
  destroy(buffer);  // the copy still works
  auto ready = make<PJRT_Event_IsReady_Args>();
  ready.event = args.event;
  ASSERT_PJRT_OK(call(api_.PJRT_Event_IsReady, ready));
  EXPECT_FALSE(ready.is_ready);
  std::vector<float> out(2);
  auto callback = make<PJRT_Buffer_CopyRawToHostFuture_Callback_Args>();
  callback.callback_data = args.callback_data;
  callback.dst = out.data();
  args.future_ready_callback(&callback);
  EXPECT_PJRT_OK(finish(args.event));
  EXPECT_EQ(out, (std::vector<float>{3, 4}));

  buffer = fromHost({1, 2, 3, 4});
  args.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyRawToHostFuture, args));
  callback.callback_data = args.callback_data;
  callback.error_code = PJRT_Error_Code_CANCELLED;
  callback.error_message = "never mind";
  callback.error_message_size = 10;
  args.future_ready_callback(&callback);
  EXPECT_EQ(finish(args.event).message, "never mind");
  destroy(buffer);
}

TEST_F(BufferTest, CopiesToDevicesAndMemories) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  auto toDevice = make<PJRT_Buffer_CopyToDevice_Args>();
  toDevice.buffer = buffer;
  toDevice.dst_device = device(3);
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyToDevice, toDevice));
  auto toMemory = make<PJRT_Buffer_CopyToMemory_Args>();
  toMemory.buffer = buffer;
  toMemory.dst_memory = memory("pinned_host", 2);
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_CopyToMemory, toMemory));
  destroy(buffer);
  for (auto [copy, expected] : {std::pair{toDevice.dst_buffer, memory("device", 3)},
                                std::pair{toMemory.dst_buffer, memory("pinned_host", 2)}}) {
    auto in = make<PJRT_Buffer_Memory_Args>();
    in.buffer = copy;
    ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Memory, in));
    EXPECT_EQ(in.memory, expected);
    EXPECT_EQ(toHost(copy), (std::vector<float>{1, 2, 3, 4}));
    destroy(copy);
  }
}

TEST_F(BufferTest, BitcastShowsTheSameBytes) {
  PJRT_Buffer* buffer = fromHost({1.0f, -2.0f});
  auto args = make<PJRT_Buffer_Bitcast_Args>();
  args.buffer = buffer;
  args.element_type = PJRT_Buffer_Type_S32;
  int64_t dims[] = {2, 1};
  args.dims = dims;
  args.num_dims = 2;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_Bitcast, args));
  EXPECT_EQ(toHostInts(args.out_buffer), (std::vector<int32_t>{0x3f800000, -0x40000000}));
  destroy(args.out_buffer);
  dims[1] = 2;
  EXPECT_EQ(call(api_.PJRT_Buffer_Bitcast, args).code, PJRT_Error_Code_INVALID_ARGUMENT);
  destroy(buffer);
}

TEST_F(BufferTest, DonationWithControlDependency) {
  PJRT_Buffer* buffer = fromHost({1, 2, 3, 4});
  auto args = make<PJRT_Buffer_DonateWithControlDependency_Args>();
  args.buffer = buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_DonateWithControlDependency, args));
  EXPECT_TRUE(isDeleted(buffer));
  auto event = make<PJRT_Buffer_ReadyEvent_Args>();
  event.buffer = args.out_buffer;
  ASSERT_PJRT_OK(call(api_.PJRT_Buffer_ReadyEvent, event));
  auto ready = make<PJRT_Event_IsReady_Args>();
  ready.event = event.event;
  ASSERT_PJRT_OK(call(api_.PJRT_Event_IsReady, ready));
  EXPECT_FALSE(ready.is_ready);
  auto callback = make<PJRT_Buffer_DonateWithControlDependency_Callback_Args>();
  callback.callback_data = args.callback_data;
  args.dependency_ready_callback(&callback);
  EXPECT_PJRT_OK(finish(event.event));
  EXPECT_EQ(toHost(args.out_buffer), (std::vector<float>{1, 2, 3, 4}));
  destroy(args.out_buffer);
  destroy(buffer);
}

TEST_F(BufferTest, ViewsBorrowAndReleaseOnce) {
  alignas(64) float data[4] = {5, 6, 7, 8};
  static int released;
  released = 0;
  int64_t dim = 4;
  auto args = make<PJRT_Client_CreateViewOfDeviceBuffer_Args>();
  args.client = client_;
  args.device_buffer_ptr = data;
  args.dims = &dim;
  args.num_dims = 1;
  args.element_type = PJRT_Buffer_Type_F32;
  args.device = device();
  args.on_delete_callback = [](void*, void* counter) { ++*static_cast<int*>(counter); };
  args.on_delete_callback_arg = &released;
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateViewOfDeviceBuffer, args));
  EXPECT_EQ(toHost(args.buffer), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(pointer(args.buffer), data);
  EXPECT_EQ(released, 0);
  EXPECT_PJRT_OK(deleteBuffer(args.buffer));
  EXPECT_EQ(released, 1);
  destroy(args.buffer);
  EXPECT_EQ(released, 1);
}

TEST_F(BufferTest, UninitializedAndErrorBuffers) {
  int64_t dim = 4;
  auto blank = make<PJRT_Client_CreateUninitializedBuffer_Args>();
  blank.client = client_;
  blank.shape_dims = &dim;
  blank.shape_num_dims = 1;
  blank.shape_element_type = PJRT_Buffer_Type_F32;
  blank.memory = memory("device");
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateUninitializedBuffer, blank));
  EXPECT_PJRT_OK(awaitReady(blank.buffer));
  EXPECT_NE(pointer(blank.buffer), nullptr);
  destroy(blank.buffer);

  auto poisoned = make<PJRT_Client_CreateErrorBuffer_Args>();
  poisoned.client = client_;
  poisoned.error_code = PJRT_Error_Code_DATA_LOSS;
  poisoned.error_message = "rotten";
  poisoned.error_message_size = 6;
  poisoned.shape_dims = &dim;
  poisoned.shape_num_dims = 1;
  poisoned.shape_element_type = PJRT_Buffer_Type_F32;
  poisoned.memory = memory("device");
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateErrorBuffer, poisoned));
  Outcome outcome = awaitReady(poisoned.buffer);
  EXPECT_EQ(outcome.code, PJRT_Error_Code_DATA_LOSS);
  EXPECT_EQ(outcome.message, "rotten");
  destroy(poisoned.buffer);
}

TEST_F(BufferTest, AliasBuffersAreFulfilled) {
  int64_t dim = 4;
  for (bool fails : {false, true}) {
    auto create = make<PJRT_Client_CreateAliasBuffer_Args>();
    create.client = client_;
    create.memory = memory("device");
    create.shape_dims = &dim;
    create.shape_num_dims = 1;
    create.shape_element_type = PJRT_Buffer_Type_F32;
    ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateAliasBuffer, create));
    PJRT_Buffer* source = fromHost({1, 2, 3, 4});
    auto fulfill = make<PJRT_Client_FulfillAliasBuffer_Args>();
    fulfill.client = client_;
    fulfill.buffer = fails ? nullptr : source;
    fulfill.status_code = fails ? PJRT_Error_Code_ABORTED : PJRT_Error_Code_OK;
    fulfill.error_message = "no source";
    fulfill.error_message_size = 9;
    fulfill.fulfill_alias_buffer_cb = create.fulfill_alias_buffer_cb;
    ASSERT_PJRT_OK(call(api_.PJRT_Client_FulfillAliasBuffer, fulfill));
    destroy(source);
    if (fails) {
      EXPECT_EQ(awaitReady(create.alias_buffer).message, "no source");
    } else {
      EXPECT_EQ(toHost(create.alias_buffer), (std::vector<float>{1, 2, 3, 4}));
    }
    destroy(create.alias_buffer);
  }
}

TEST_F(BufferTest, BuffersAreFilledPieceByPiece) {
  int64_t dim = 4;
  PJRT_ShapeSpec specs[2] = {make<PJRT_ShapeSpec>(), make<PJRT_ShapeSpec>()};
  for (auto& spec : specs) {
    spec.dims = &dim;
    spec.num_dims = 1;
    spec.element_type = PJRT_Buffer_Type_F32;
  }
  auto create = make<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  create.client = client_;
  create.shape_specs = specs;
  create.num_shape_specs = 2;
  create.memory = memory("device", 1);
  ASSERT_PJRT_OK(call(api_.PJRT_Client_CreateBuffersForAsyncHostToDevice, create));
  PJRT_AsyncHostToDeviceTransferManager* manager = create.transfer_manager;

  auto count = make<PJRT_AsyncHostToDeviceTransferManager_BufferCount_Args>();
  count.transfer_manager = manager;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_BufferCount, count));
  EXPECT_EQ(count.buffer_count, 2u);
  auto size = make<PJRT_AsyncHostToDeviceTransferManager_BufferSize_Args>();
  size.transfer_manager = manager;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_BufferSize, size));
  EXPECT_EQ(size.buffer_size, 16u);
  size.buffer_index = 2;
  EXPECT_FALSE(call(api_.PJRT_AsyncHostToDeviceTransferManager_BufferSize, size).ok());
  auto where = make<PJRT_AsyncHostToDeviceTransferManager_Device_Args>();
  where.transfer_manager = manager;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_Device, where));
  EXPECT_EQ(where.device_out, device(1));

  // The buffer may be taken before its data comes.
  auto retrieve = make<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
  retrieve.transfer_manager = manager;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve));
  const float data[] = {1, 2, 3, 4};
  for (int half : {1, 0}) {
    auto transfer = make<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
    transfer.transfer_manager = manager;
    transfer.data = data + 2 * half;
    transfer.offset = 8 * half;
    transfer.transfer_size = 8;
    transfer.is_last_transfer = half == 0;
    ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_TransferData, transfer));
    EXPECT_PJRT_OK(finish(transfer.done_with_h2d_transfer));
  }
  EXPECT_EQ(toHost(retrieve.buffer_out), (std::vector<float>{1, 2, 3, 4}));
  destroy(retrieve.buffer_out);

  auto error = make<PJRT_AsyncHostToDeviceTransferManager_SetBufferError_Args>();
  error.transfer_manager = manager;
  error.buffer_index = 1;
  error.error_code = PJRT_Error_Code_ABORTED;
  error.error_message = "lost";
  error.error_message_size = 4;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_SetBufferError, error));
  retrieve.buffer_index = 1;
  ASSERT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer, retrieve));
  EXPECT_EQ(awaitReady(retrieve.buffer_out).message, "lost");
  destroy(retrieve.buffer_out);

  auto gone = make<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
  gone.transfer_manager = manager;
  EXPECT_PJRT_OK(call(api_.PJRT_AsyncHostToDeviceTransferManager_Destroy, gone));
}

TEST_F(BufferTest, DmaMapAndUnmap) {
  std::vector<char> data(100);
  auto map = make<PJRT_Client_DmaMap_Args>();
  map.client = client_;
  map.data = data.data();
  map.size = data.size();
  EXPECT_PJRT_OK(call(api_.PJRT_Client_DmaMap, map));
  auto unmap = make<PJRT_Client_DmaUnmap_Args>();
  unmap.client = client_;
  unmap.data = data.data();
  EXPECT_PJRT_OK(call(api_.PJRT_Client_DmaUnmap, unmap));
  EXPECT_EQ(call(api_.PJRT_Client_DmaUnmap, unmap).code, PJRT_Error_Code_INVALID_ARGUMENT);
  map.size = 0;
  EXPECT_EQ(call(api_.PJRT_Client_DmaMap, map).code, PJRT_Error_Code_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace isthmus::pjrt
