// Device descriptions, devices and memories of the PJRT C API.
#pragma once

#include "isthmus/pjrt_c_api/types.h"

struct PJRT_DeviceDescription_Id_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  int id;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_Id_Args, id);

struct PJRT_DeviceDescription_ProcessIndex_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  int process_index;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_ProcessIndex_Args, process_index);

struct PJRT_DeviceDescription_Attributes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  size_t num_attributes;
  const PJRT_NamedValue* attributes;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_Attributes_Args, attributes);

struct PJRT_DeviceDescription_Kind_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  const char* device_kind;
  size_t device_kind_size;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_Kind_Args, device_kind_size);

struct PJRT_DeviceDescription_DebugString_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  const char* debug_string;
  size_t debug_string_size;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_DebugString_Args, debug_string_size);

struct PJRT_DeviceDescription_ToString_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  const char* to_string;
  size_t to_string_size;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_ToString_Args, to_string_size);

struct PJRT_Device_GetDescription_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  PJRT_DeviceDescription* device_description;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_GetDescription_Args, device_description);

struct PJRT_Device_IsAddressable_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  bool is_addressable;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_IsAddressable_Args, is_addressable);

struct PJRT_Device_LocalHardwareId_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  int local_hardware_id;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_LocalHardwareId_Args, local_hardware_id);

struct PJRT_Device_AddressableMemories_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  PJRT_Memory* const* memories;
  size_t num_memories;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_AddressableMemories_Args, num_memories);

struct PJRT_Device_DefaultMemory_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  PJRT_Memory* memory;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_DefaultMemory_Args, memory);

// Every field is written, also each `_is_set`.
struct PJRT_Device_MemoryStats_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  int64_t bytes_in_use;
  int64_t peak_bytes_in_use;
  bool peak_bytes_in_use_is_set;
  int64_t num_allocs;
  bool num_allocs_is_set;
  int64_t largest_alloc_size;
  bool largest_alloc_size_is_set;
  int64_t bytes_limit;
  bool bytes_limit_is_set;
  int64_t bytes_reserved;
  bool bytes_reserved_is_set;
  int64_t peak_bytes_reserved;
  bool peak_bytes_reserved_is_set;
  int64_t bytes_reservable_limit;
  bool bytes_reservable_limit_is_set;
  int64_t largest_free_block_bytes;
  bool largest_free_block_bytes_is_set;
  int64_t pool_bytes;
  bool pool_bytes_is_set;
  int64_t peak_pool_bytes;
  bool peak_pool_bytes_is_set;
  int64_t peak_allocated_bytes;
  bool peak_allocated_bytes_is_set;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_MemoryStats_Args, peak_allocated_bytes_is_set);

struct PJRT_Device_ClearMemoryStats_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_ClearMemoryStats_Args, device);

struct PJRT_Device_PoisonExecution_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  int32_t launch_id;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  bool poisoned;
  const PJRT_NamedValue* payload;
  size_t num_payload;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_PoisonExecution_Args, num_payload);

struct PJRT_Device_GetAttributes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  const PJRT_NamedValue* attributes;
  size_t num_attributes;
  PJRT_Device_Attributes* device_attributes;
  void (*attributes_deleter)(PJRT_Device_Attributes* device_attributes);
};
ISTHMUS_PJRT_SIZE(PJRT_Device_GetAttributes_Args, attributes_deleter);

struct PJRT_Device_CreateAsyncTrackingEvent_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Device* device;
  const char* description;
  size_t description_size;
  PJRT_AsyncTrackingEvent* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Device_CreateAsyncTrackingEvent_Args, event);

struct PJRT_AsyncTrackingEvent_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_AsyncTrackingEvent* event;
};
ISTHMUS_PJRT_SIZE(PJRT_AsyncTrackingEvent_Destroy_Args, event);

// ---- Memories

// The first word of every memory points to one of these: storage for the framework's own data per
// memory, by key.
struct PJRT_Memory_FunctionTable {
  ISTHMUS_PJRT_HEAD
  size_t instance_struct_size;
  void* (*get_user_data)(PJRT_Memory* memory, const void* key);
  void (*set_user_data)(PJRT_Memory* memory, const void* key, void* data, void (*dtor)(void*));
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_FunctionTable, set_user_data);

struct PJRT_Memory {
  const PJRT_Memory_FunctionTable* vtable;
};

struct PJRT_Memory_Id_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  int id;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_Id_Args, id);

struct PJRT_Memory_Kind_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  const char* kind;
  size_t kind_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_Kind_Args, kind_size);

struct PJRT_Memory_Kind_Id_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  int kind_id;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_Kind_Id_Args, kind_id);

struct PJRT_Memory_DebugString_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  const char* debug_string;
  size_t debug_string_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_DebugString_Args, debug_string_size);

struct PJRT_Memory_ToString_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  const char* to_string;
  size_t to_string_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_ToString_Args, to_string_size);

struct PJRT_Memory_AddressableByDevices_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Memory* memory;
  PJRT_Device* const* devices;
  size_t num_devices;
};
ISTHMUS_PJRT_SIZE(PJRT_Memory_AddressableByDevices_Args, num_devices);
