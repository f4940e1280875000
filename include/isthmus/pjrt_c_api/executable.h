// Executables, loaded executables and execution of the PJRT C API.
#pragma once

#include "isthmus/pjrt_c_api/transfer.h"

struct PJRT_ExecuteContext_Create_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_ExecuteContext* context;
};
ISTHMUS_PJRT_SIZE(PJRT_ExecuteContext_Create_Args, context);

struct PJRT_ExecuteContext_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_ExecuteContext* context;
};
ISTHMUS_PJRT_SIZE(PJRT_ExecuteContext_Destroy_Args, context);

struct PJRT_LogicalDeviceIds {
  int replica;
  int partition;
};

struct PJRT_LoadOptions {
  size_t struct_size;
  const int32_t* computation_origin;
  size_t computation_origin_size;
  PJRT_MultiSlice_Config* multi_slice_config;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadOptions, multi_slice_config);

struct PJRT_Executable_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_Destroy_Args, executable);

struct PJRT_Executable_Name_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  const char* executable_name;
  size_t executable_name_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_Name_Args, executable_name_size);

struct PJRT_Executable_NumReplicas_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_replicas;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_NumReplicas_Args, num_replicas);

struct PJRT_Executable_NumPartitions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_partitions;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_NumPartitions_Args, num_partitions);

struct PJRT_Executable_OptimizedProgram_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  PJRT_Program* program;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_OptimizedProgram_Args, program);

struct PJRT_Executable_NumOutputs_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_outputs;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_NumOutputs_Args, num_outputs);

struct PJRT_Executable_SizeOfGeneratedCodeInBytes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  int64_t size_in_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, size_in_bytes);

struct PJRT_Executable_Fingerprint_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  const char* executable_fingerprint;
  size_t executable_fingerprint_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_Fingerprint_Args, executable_fingerprint_size);

struct PJRT_Executable_GetCostAnalysis_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_properties;
  const PJRT_NamedValue* properties;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_GetCostAnalysis_Args, properties);

struct PJRT_Executable_GetCompiledMemoryStats_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  int64_t generated_code_size_in_bytes;
  int64_t argument_size_in_bytes;
  int64_t output_size_in_bytes;
  int64_t alias_size_in_bytes;
  int64_t temp_size_in_bytes;
  int64_t host_generated_code_size_in_bytes;
  int64_t host_argument_size_in_bytes;
  int64_t host_output_size_in_bytes;
  int64_t host_alias_size_in_bytes;
  int64_t host_temp_size_in_bytes;
  int64_t peak_memory_in_bytes;
  int64_t total_size_in_bytes;
  int64_t total_allocation_bytes;
  int64_t indefinite_allocations;
  int64_t peak_unpadded_heap_bytes;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_GetCompiledMemoryStats_Args, peak_unpadded_heap_bytes);

struct PJRT_Executable_OutputElementTypes_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  PJRT_Buffer_Type* output_types;
  size_t num_output_types;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_OutputElementTypes_Args, num_output_types);

// `dims` holds the dimensions of all outputs one after another, `dim_sizes` the rank of each.
struct PJRT_Executable_OutputDimensions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_outputs;
  const int64_t* dims;
  const size_t* dim_sizes;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_OutputDimensions_Args, dim_sizes);

struct PJRT_Executable_ParameterMemoryKinds_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* memory_kinds;
  const size_t* memory_kind_sizes;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_ParameterMemoryKinds_Args, memory_kind_sizes);

struct PJRT_Executable_OutputMemoryKinds_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* memory_kinds;
  const size_t* memory_kind_sizes;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_OutputMemoryKinds_Args, memory_kind_sizes);

struct PJRT_Executable_Serialize_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_Executable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_SerializedExecutable* serialized_executable;
  void (*serialized_executable_deleter)(PJRT_SerializedExecutable* exec);
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_Serialize_Args, serialized_executable_deleter);

struct PJRT_Executable_GetCompileOptions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_SerializedCompileOptions* serialized_compile_options;
  void (*serialized_compile_options_deleter)(PJRT_SerializedCompileOptions* options);
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_GetCompileOptions_Args, serialized_compile_options_deleter);

struct PJRT_Executable_DeserializeAndLoad_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  const char* serialized_executable;
  size_t serialized_executable_size;
  PJRT_LoadedExecutable* loaded_executable;
  const char* overridden_serialized_compile_options;
  size_t overridden_serialized_compile_options_size;
  PJRT_LoadOptions* load_options;
};
ISTHMUS_PJRT_SIZE(PJRT_Executable_DeserializeAndLoad_Args, load_options);

// ---- Execution

using PJRT_SendCallback = PJRT_Error* (*)(PJRT_Chunk * chunk, PJRT_CallbackError* callback_error,
                                          size_t total_size_in_bytes, bool done, void* user_arg);
using PJRT_RecvCallback = void (*)(PJRT_CopyToDeviceStream* stream, void* user_arg);
using PJRT_HloOutputCallback = void (*)(int64_t replica_id, int64_t partition_id, const void* data,
                                        const int64_t* shape_dims, size_t shape_num_dims,
                                        PJRT_Buffer_Type shape_element_type, int64_t operand_index,
                                        void* user_arg);

struct PJRT_SendCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_SendCallback send_callback;
};

struct PJRT_RecvCallbackInfo {
  int64_t channel_id;
  void* user_arg;
  PJRT_RecvCallback recv_callback;
};

struct PJRT_HloOutputCallbackInfo {
  void* user_arg;
  PJRT_HloOutputCallback callback;
  int64_t callback_id;
  size_t num_operands;
};

// Fields beyond `struct_size` do not exist.
struct PJRT_ExecuteOptions {
  ISTHMUS_PJRT_HEAD
  PJRT_SendCallbackInfo** send_callbacks;
  PJRT_RecvCallbackInfo** recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  PJRT_ExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
  PJRT_MultiSlice_Config* multi_slice_config;
  bool use_major_to_minor_data_layout_for_callbacks;
  PJRT_HloOutputCallbackInfo* hlo_output_callbacks;
  size_t num_hlo_output_callbacks;
};
ISTHMUS_PJRT_SIZE(PJRT_ExecuteOptions, num_hlo_output_callbacks);

struct PJRT_LoadedExecutable_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_Destroy_Args, executable);

struct PJRT_LoadedExecutable_GetExecutable_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* loaded_executable;
  PJRT_Executable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_GetExecutable_Args, executable);

struct PJRT_LoadedExecutable_GetDeviceAssignment_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_DeviceAssignmentSerialized* serialized_device_assignment;
  void (*serialized_device_assignment_deleter)(PJRT_DeviceAssignmentSerialized* da);
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_GetDeviceAssignment_Args,
                  serialized_device_assignment_deleter);

struct PJRT_LoadedExecutable_AddressableDevices_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  PJRT_Device* const* addressable_devices;
  size_t num_addressable_devices;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_AddressableDevices_Args, num_addressable_devices);

struct PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  PJRT_LogicalDeviceIds* addressable_device_logical_ids;
  size_t num_addressable_device_logical_ids;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_AddressableDeviceLogicalIds_Args,
                  num_addressable_device_logical_ids);

struct PJRT_LoadedExecutable_Delete_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_Delete_Args, executable);

struct PJRT_LoadedExecutable_IsDeleted_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  bool is_deleted;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_IsDeleted_Args, is_deleted);

// Lists are [device][argument] and [device][output]; the caller allocates the arrays, the plugin
// the buffers and events in them. With `execute_device`, only that device runs and num_devices
// is 1.
struct PJRT_LoadedExecutable_Execute_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  PJRT_ExecuteOptions* options;
  PJRT_Buffer* const* const* argument_lists;
  size_t num_devices;
  size_t num_args;
  PJRT_Buffer** const* output_lists;
  PJRT_Event** device_complete_events;
  PJRT_Device* execute_device;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_Execute_Args, execute_device);

struct PJRT_LoadedExecutable_Fingerprint_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_LoadedExecutable* executable;
  const char* executable_fingerprint;
  size_t executable_fingerprint_size;
};
ISTHMUS_PJRT_SIZE(PJRT_LoadedExecutable_Fingerprint_Args, executable_fingerprint_size);
