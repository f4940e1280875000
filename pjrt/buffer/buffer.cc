// The entries of PJRT_Buffer that ask about a buffer or end its life.
#include <array>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"
#include "pjrt/event.h"
#include "pjrt/handles.h"

namespace isthmus::pjrt {
namespace {

Status bufferDestroy(PJRT_Buffer_Destroy_Args& args) {
  if (args.buffer == nullptr) return {};
  BufferRef buffer = BufferRef::adopt(&fromHandle(args.buffer));
  buffer->release();
  return {};
}

Status bufferElementType(PJRT_Buffer_ElementType_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  args.type = static_cast<PJRT_Buffer_Type>(fromHandle(args.buffer).type().elementType);
  return {};
}

Status bufferDimensions(PJRT_Buffer_Dimensions_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  const auto& dims = fromHandle(args.buffer).type().dims;
  args.dims = dims.data();
  args.num_dims = dims.size();
  return {};
}

Status bufferUnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  const auto& dims = fromHandle(args.buffer).type().dims;
  args.unpadded_dims = dims.data();
  args.num_dims = dims.size();
  return {};
}

// All our shapes are static.
Status bufferDynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args& args) {
  args.dynamic_dim_indices = nullptr;
  args.num_dynamic_dims = 0;
  ISTHMUS_REQUIRE(args, buffer);
  return {};
}

// The minor-to-major order of every row-major array of a rank, as a list that lives for ever.
const int64_t* rowMajorOrder(size_t rank) {
  static constexpr size_t kMaxRank = 64;
  // order[i] = kMaxRank - 1 - i, so the last `rank` entries are rank-1 … 0.
  static const auto& order = *[] {
    auto* list = new std::array<int64_t, kMaxRank>;
    for (size_t i = 0; i < kMaxRank; ++i) (*list)[i] = static_cast<int64_t>(kMaxRank - 1 - i);
    return list;
  }();
  return rank <= kMaxRank ? order.data() + (kMaxRank - rank) : nullptr;
}

Status bufferGetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  const ArrayType& type = fromHandle(args.buffer).type();
  size_t rank = type.dims.size();
  const int64_t* order = type.minorToMajor.empty() ? rowMajorOrder(rank) : type.minorToMajor.data();
  if (order == nullptr) return unimplemented("the layout of a buffer of rank ", rank);
  args.layout = {};
  args.layout.struct_size = kPjrtStructSize<PJRT_Buffer_MemoryLayout>;
  args.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  args.layout.tiled.struct_size = kPjrtStructSize<PJRT_Buffer_MemoryLayout_Tiled>;
  args.layout.tiled.minor_to_major = order;
  args.layout.tiled.minor_to_major_size = rank;
  return {};
}

Status bufferOnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args& args) {
  args.on_device_size_in_bytes = 0;
  ISTHMUS_REQUIRE(args, buffer);
  args.on_device_size_in_bytes = fromHandle(args.buffer).sizeBytes();
  return {};
}

Status bufferDevice(PJRT_Buffer_Device_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  args.device = toHandle(&fromHandle(args.buffer).device());
  return {};
}

Status bufferMemory(PJRT_Buffer_Memory_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  args.memory = toHandle(fromHandle(args.buffer).memory());
  return {};
}

Status bufferDelete(PJRT_Buffer_Delete_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  fromHandle(args.buffer).release();
  return {};
}

Status bufferIsDeleted(PJRT_Buffer_IsDeleted_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  args.is_deleted = fromHandle(args.buffer).isDeleted();
  return {};
}

Status bufferIsOnCpu(PJRT_Buffer_IsOnCpu_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  args.is_on_cpu = fromHandle(args.buffer).client().backend().isHostAddressable();
  return {};
}

Status bufferReadyEvent(PJRT_Buffer_ReadyEvent_Args& args) {
  args.event = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  args.event = toHandle(fromHandle(args.buffer).readyEvent());
  return {};
}

Status bufferUnsafePointer(PJRT_Buffer_UnsafePointer_Args& args) {
  args.buffer_pointer = 0;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_ASSIGN_OR_RETURN(void* pointer, fromHandle(args.buffer).pointer());
  args.buffer_pointer = reinterpret_cast<uintptr_t>(pointer);
  return {};
}

Status bufferOpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args& args) {
  args.device_memory_ptr = nullptr;
  ISTHMUS_REQUIRE(args, buffer);
  ISTHMUS_ASSIGN_OR_RETURN(args.device_memory_ptr, fromHandle(args.buffer).pointer());
  return {};
}

Status bufferIncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  return fromHandle(args.buffer).addExternalReference();
}

Status bufferDecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args& args) {
  ISTHMUS_REQUIRE(args, buffer);
  return fromHandle(args.buffer).dropExternalReference();
}

}  // namespace

void bindBuffer(PJRT_Api& api) {
  api.PJRT_Buffer_Destroy = kEntry<&bufferDestroy>;
  api.PJRT_Buffer_ElementType = kEntry<&bufferElementType>;
  api.PJRT_Buffer_Dimensions = kEntry<&bufferDimensions>;
  api.PJRT_Buffer_UnpaddedDimensions = kEntry<&bufferUnpaddedDimensions>;
  api.PJRT_Buffer_DynamicDimensionIndices = kEntry<&bufferDynamicDimensionIndices>;
  api.PJRT_Buffer_GetMemoryLayout = kEntry<&bufferGetMemoryLayout>;
  api.PJRT_Buffer_OnDeviceSizeInBytes = kEntry<&bufferOnDeviceSizeInBytes>;
  api.PJRT_Buffer_Device = kEntry<&bufferDevice>;
  api.PJRT_Buffer_Memory = kEntry<&bufferMemory>;
  api.PJRT_Buffer_Delete = kEntry<&bufferDelete>;
  api.PJRT_Buffer_IsDeleted = kEntry<&bufferIsDeleted>;
  api.PJRT_Buffer_IsOnCpu = kEntry<&bufferIsOnCpu>;
  api.PJRT_Buffer_ReadyEvent = kEntry<&bufferReadyEvent>;
  api.PJRT_Buffer_UnsafePointer = kEntry<&bufferUnsafePointer>;
  api.PJRT_Buffer_OpaqueDeviceMemoryDataPointer = kEntry<&bufferOpaqueDeviceMemoryDataPointer>;
  api.PJRT_Buffer_IncreaseExternalReferenceCount = kEntry<&bufferIncreaseExternalReferenceCount>;
  api.PJRT_Buffer_DecreaseExternalReferenceCount = kEntry<&bufferDecreaseExternalReferenceCount>;
}

}  // namespace isthmus::pjrt
