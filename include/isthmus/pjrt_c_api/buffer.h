// Buffers of the PJRT C API.
#pragma once

#include "isthmus/pjrt_c_api/types.h"

struct PJRT_Buffer_CopyRawToHostFuture_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  void* dst;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Callback_Args, dst);

struct PJRT_Buffer_DonateWithControlDependency_Callback_Args {
  size_t struct_size;
  void* callback_data;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_DonateWithControlDependency_Callback_Args, error_message_size);

struct PJRT_Buffer_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Destroy_Args, buffer);

struct PJRT_Buffer_ElementType_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type type;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_ElementType_Args, type);

struct PJRT_Buffer_Dimensions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  const int64_t* dims;
  size_t num_dims;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Dimensions_Args, num_dims);

struct PJRT_Buffer_UnpaddedDimensions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  const int64_t* unpadded_dims;
  size_t num_dims;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_UnpaddedDimensions_Args, num_dims);

struct PJRT_Buffer_DynamicDimensionIndices_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  const size_t* dynamic_dim_indices;
  size_t num_dynamic_dims;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_DynamicDimensionIndices_Args, num_dynamic_dims);

struct PJRT_Buffer_GetMemoryLayout_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Buffer_MemoryLayout layout;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_GetMemoryLayout_Args, layout);

// A null `dst` asks for the size only. A null `host_layout` means the layout of the buffer.
struct PJRT_Buffer_ToHostBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* src;
  PJRT_Buffer_MemoryLayout* host_layout;
  void* dst;
  size_t dst_size;
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_ToHostBuffer_Args, event);

struct PJRT_Buffer_OnDeviceSizeInBytes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  size_t on_device_size_in_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_OnDeviceSizeInBytes_Args, on_device_size_in_bytes);

struct PJRT_Buffer_Delete_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Delete_Args, buffer);

struct PJRT_Buffer_IsDeleted_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  bool is_deleted;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_IsDeleted_Args, is_deleted);

struct PJRT_Buffer_CopyRawToHost_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  void* dst;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_CopyRawToHost_Args, event);

// The caller later calls `future_ready_callback` with the destination, and with `callback_data`.
struct PJRT_Buffer_CopyRawToHostFuture_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  int64_t offset;
  int64_t transfer_size;
  PJRT_Event* event;
  void* callback_data;
  void (*future_ready_callback)(PJRT_Buffer_CopyRawToHostFuture_Callback_Args* args);
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_CopyRawToHostFuture_Args, future_ready_callback);

struct PJRT_Buffer_CopyToDevice_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Device* dst_device;
  PJRT_Buffer* dst_buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_CopyToDevice_Args, dst_buffer);

struct PJRT_Buffer_CopyToMemory_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Memory* dst_memory;
  PJRT_Buffer* dst_buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_CopyToMemory_Args, dst_buffer);

struct PJRT_Buffer_Bitcast_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Buffer_Type element_type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Buffer* out_buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Bitcast_Args, out_buffer);

struct PJRT_Buffer_IsOnCpu_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  bool is_on_cpu;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_IsOnCpu_Args, is_on_cpu);

struct PJRT_Buffer_Device_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Device* device;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Device_Args, device);

struct PJRT_Buffer_Memory_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_Memory_Args, memory);

struct PJRT_Buffer_ReadyEvent_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_ReadyEvent_Args, event);

struct PJRT_Buffer_UnsafePointer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  uintptr_t buffer_pointer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_UnsafePointer_Args, buffer_pointer);

struct PJRT_Buffer_IncreaseExternalReferenceCount_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_IncreaseExternalReferenceCount_Args, buffer);

struct PJRT_Buffer_DecreaseExternalReferenceCount_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_DecreaseExternalReferenceCount_Args, buffer);

struct PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  void* device_memory_ptr;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args, device_memory_ptr);

// The caller later calls `dependency_ready_callback`; `out_buffer` is ready only after it.
struct PJRT_Buffer_DonateWithControlDependency_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  void* callback_data;
  void (*dependency_ready_callback)(PJRT_Buffer_DonateWithControlDependency_Callback_Args* args);
  PJRT_Buffer* out_buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Buffer_DonateWithControlDependency_Args, out_buffer);
