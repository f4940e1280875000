// The client of the PJRT C API: creation, devices, compilation, buffers from the host.
#pragma once

#include "isthmus/pjrt_c_api/types.h"

using PJRT_KeyValueGetCallback_ValueDeleter = void (*)(char* value);
using PJRT_KeyValueTryGetCallback_ValueDeleter = void (*)(char* value);

// Blocks up to the timeout. The value is freed with `value_deleter_callback`.
struct PJRT_KeyValueGetCallback_Args {
  ISTHMUS_PJRT_HEAD
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;
  size_t value_size;
  PJRT_KeyValueGetCallback_ValueDeleter value_deleter_callback;
};
ISTHMUS_PJRT_SIZE(PJRT_KeyValueGetCallback_Args, value_deleter_callback);

// Does not block: NOT_FOUND if the key has no value yet.
struct PJRT_KeyValueTryGetCallback_Args {
  ISTHMUS_PJRT_HEAD
  const char* key;
  size_t key_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
  char* value;
  size_t value_size;
  PJRT_KeyValueTryGetCallback_ValueDeleter value_deleter_callback;
};
ISTHMUS_PJRT_SIZE(PJRT_KeyValueTryGetCallback_Args, value_deleter_callback);

struct PJRT_KeyValuePutCallback_Args {
  ISTHMUS_PJRT_HEAD
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  PJRT_CallbackError* callback_error;
  void* user_arg;
};
ISTHMUS_PJRT_SIZE(PJRT_KeyValuePutCallback_Args, user_arg);

using PJRT_KeyValueGetCallback = PJRT_Error* (*)(PJRT_KeyValueGetCallback_Args * args);
using PJRT_KeyValueTryGetCallback = PJRT_Error* (*)(PJRT_KeyValueTryGetCallback_Args * args);
using PJRT_KeyValuePutCallback = PJRT_Error* (*)(PJRT_KeyValuePutCallback_Args * args);

enum PJRT_ProcessState : int {
  PJRT_ProcessState_kUnspecified = 0,
  PJRT_ProcessState_kUninitialized = 1,
  PJRT_ProcessState_kDisconnected = 2,
  PJRT_ProcessState_kConnected = 3,
  PJRT_ProcessState_kError = 4,
};

struct PJRT_ProcessInfo {
  size_t struct_size;
  int task_id;
  uint64_t incarnation_id;
  PJRT_ProcessState state;
  int error_code;
  const char* error_message;
  size_t error_message_size;
};
ISTHMUS_PJRT_SIZE(PJRT_ProcessInfo, error_message_size);

// The callbacks hold garbage unless the process is one of several (option `num_nodes`).
struct PJRT_Client_Create_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_NamedValue* create_options;
  size_t num_options;
  PJRT_KeyValueGetCallback kv_get_callback;
  void* kv_get_user_arg;
  PJRT_KeyValuePutCallback kv_put_callback;
  void* kv_put_user_arg;
  PJRT_Client* client;
  PJRT_KeyValueTryGetCallback kv_try_get_callback;
  void* kv_try_get_user_arg;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_Create_Args, kv_try_get_user_arg);

struct PJRT_Client_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_Destroy_Args, client);

struct PJRT_Client_PlatformName_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const char* platform_name;
  size_t platform_name_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_PlatformName_Args, platform_name_size);

struct PJRT_Client_ProcessIndex_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  int process_index;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_ProcessIndex_Args, process_index);

struct PJRT_Client_PlatformVersion_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const char* platform_version;
  size_t platform_version_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_PlatformVersion_Args, platform_version_size);

struct PJRT_Client_TopologyDescription_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_TopologyDescription* topology;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_TopologyDescription_Args, topology);

struct PJRT_Client_Devices_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Device* const* devices;
  size_t num_devices;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_Devices_Args, num_devices);

struct PJRT_Client_AddressableDevices_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Device* const* addressable_devices;
  size_t num_addressable_devices;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_AddressableDevices_Args, num_addressable_devices);

struct PJRT_Client_LookupDevice_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  int id;
  PJRT_Device* device;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_LookupDevice_Args, device);

struct PJRT_Client_LookupAddressableDevice_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  int local_hardware_id;
  PJRT_Device* addressable_device;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_LookupAddressableDevice_Args, addressable_device);

struct PJRT_Client_UpdateGlobalProcessInfo_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_ProcessInfo* process_infos;
  size_t num_process_infos;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_UpdateGlobalProcessInfo_Args, num_process_infos);

struct PJRT_Client_AddressableMemories_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Memory* const* addressable_memories;
  size_t num_addressable_memories;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_AddressableMemories_Args, num_addressable_memories);

struct PJRT_Client_Compile_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const PJRT_Program* program;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_Compile_Args, executable);

struct PJRT_Client_Load_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Executable* executable;
  const char* compile_options;
  size_t compile_options_size;
  PJRT_LoadedExecutable* loaded_executable;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_Load_Args, loaded_executable);

// `default_assignment` has room for `default_assignment_size` device ids.
struct PJRT_Client_DefaultDeviceAssignment_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  int num_replicas;
  int num_partitions;
  size_t default_assignment_size;
  int* default_assignment;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_DefaultDeviceAssignment_Args, default_assignment);

struct PJRT_Client_DmaMap_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  void* data;
  size_t size;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_DmaMap_Args, size);

struct PJRT_Client_DmaUnmap_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  void* data;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_DmaUnmap_Args, data);

struct PJRT_Client_CreateUninitializedBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_CreateUninitializedBuffer_Args, buffer);

struct PJRT_Client_CreateErrorBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Memory* memory;
  PJRT_Buffer* buffer;
  const PJRT_NamedValue* payload;
  size_t num_payload;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_CreateErrorBuffer_Args, num_payload);

// A buffer without contents yet: FulfillAliasBuffer gives it those of another, or an error.
struct PJRT_Client_CreateAliasBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Memory* memory;
  const int64_t* shape_dims;
  size_t shape_num_dims;
  PJRT_Buffer_Type shape_element_type;
  PJRT_Buffer_MemoryLayout* shape_layout;
  PJRT_Buffer* alias_buffer;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_CreateAliasBuffer_Args, fulfill_alias_buffer_cb);

struct PJRT_Client_FulfillAliasBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Buffer* buffer;
  PJRT_Error_Code status_code;
  const char* error_message;
  size_t error_message_size;
  PJRT_FulfillAliasBufferCallback* fulfill_alias_buffer_cb;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_FulfillAliasBuffer_Args, fulfill_alias_buffer_cb);

// `byte_strides` is null or one per dimension and may be negative or zero; `data` is then the
// address of element 0. Exactly one of `device` (its default memory is meant) and `memory` is
// needed.
struct PJRT_Client_BufferFromHostBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const void* data;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  const int64_t* byte_strides;
  size_t num_byte_strides;
  PJRT_HostBufferSemantics host_buffer_semantics;
  PJRT_Device* device;
  PJRT_Memory* memory;
  PJRT_Buffer_MemoryLayout* device_layout;
  PJRT_Event* done_with_host_buffer;
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_BufferFromHostBuffer_Args, buffer);

// The memory is borrowed; `on_delete_callback`, if not null, runs once when it is no longer needed.
struct PJRT_Client_CreateViewOfDeviceBuffer_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  void* device_buffer_ptr;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Buffer_Type element_type;
  PJRT_Buffer_MemoryLayout* layout;
  PJRT_Device* device;
  void (*on_delete_callback)(void* device_buffer_ptr, void* user_arg);
  void* on_delete_callback_arg;
  intptr_t stream;
  PJRT_Buffer* buffer;
  PJRT_Memory* memory;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_CreateViewOfDeviceBuffer_Args, memory);

struct PJRT_Client_CreateBuffersForAsyncHostToDevice_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_ShapeSpec* shape_specs;
  size_t num_shape_specs;
  PJRT_Buffer_MemoryLayout** device_layouts;
  size_t num_device_layouts;
  PJRT_Memory* memory;
  PJRT_AsyncHostToDeviceTransferManager* transfer_manager;
};
ISTHMUS_PJRT_SIZE(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args, transfer_manager);
