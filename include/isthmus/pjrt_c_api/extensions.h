// The extensions of the PJRT C API that Isthmus serves.
#pragma once

#include "isthmus/pjrt_c_api/profiler.h"
#include "isthmus/pjrt_c_api/types.h"

// ---- Layouts (type 4, version 4)

struct PJRT_Layouts_MemoryLayout;
struct PJRT_Layouts_SerializedLayout;

struct PJRT_Layouts_MemoryLayout_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Layouts_MemoryLayout* layout;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_MemoryLayout_Destroy_Args, layout);

// The text form of a layout, such as "{1,0}".
struct PJRT_Layouts_MemoryLayout_Serialize_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Layouts_MemoryLayout* layout;
  const char* serialized_bytes;
  size_t serialized_bytes_size;
  PJRT_Layouts_SerializedLayout* serialized_layout;
  void (*serialized_layout_deleter)(PJRT_Layouts_SerializedLayout* s_layout);
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_MemoryLayout_Serialize_Args, serialized_layout_deleter);

struct PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Buffer* buffer;
  PJRT_Layouts_MemoryLayout* layout;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args, layout);

struct PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args, layout);

struct PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_TopologyDescription* topology_description;
  PJRT_Buffer_Type type;
  const int64_t* dims;
  size_t num_dims;
  PJRT_Layouts_MemoryLayout* layout;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args, layout);

struct PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_outputs;
  PJRT_Layouts_MemoryLayout** layouts;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args, layouts);

struct PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_parameters;
  PJRT_Layouts_MemoryLayout** layouts;
};
ISTHMUS_PJRT_SIZE(PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args, layouts);

struct PJRT_Layouts_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Layouts_MemoryLayout_Destroy_Args> PJRT_Layouts_MemoryLayout_Destroy;
  PJRT_Entry<PJRT_Layouts_MemoryLayout_Serialize_Args> PJRT_Layouts_MemoryLayout_Serialize;
  PJRT_Entry<PJRT_Layouts_PJRT_Client_GetDefaultLayout_Args>
      PJRT_Layouts_PJRT_Client_GetDefaultLayout;
  PJRT_Entry<PJRT_Layouts_PJRT_Buffer_MemoryLayout_Args> PJRT_Layouts_PJRT_Buffer_MemoryLayout;
  PJRT_Entry<PJRT_Layouts_PJRT_Topology_GetDefaultLayout_Args>
      PJRT_Layouts_PJRT_Topology_GetDefaultLayout;
  PJRT_Entry<PJRT_Layouts_PJRT_Executable_GetOutputLayouts_Args>
      PJRT_Layouts_PJRT_Executable_GetOutputLayouts;
  PJRT_Entry<PJRT_Layouts_PJRT_Executable_GetParameterLayouts_Args>
      PJRT_Layouts_PJRT_Executable_GetParameterLayouts;
};

// ---- Shardings (type 19, version 1)

// Serialized xla.OpSharding messages, or a null `shardings` if none is known.
struct PJRT_Shardings_PJRT_Executable_ParameterShardings_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_parameters;
  const char* const* shardings;
  const size_t* sharding_sizes;
};
ISTHMUS_PJRT_SIZE(PJRT_Shardings_PJRT_Executable_ParameterShardings_Args, sharding_sizes);

struct PJRT_Shardings_PJRT_Executable_OutputShardings_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Executable* executable;
  size_t num_outputs;
  const char* const* shardings;
  const size_t* sharding_sizes;
};
ISTHMUS_PJRT_SIZE(PJRT_Shardings_PJRT_Executable_OutputShardings_Args, sharding_sizes);

struct PJRT_Shardings_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Shardings_PJRT_Executable_ParameterShardings_Args>
      PJRT_Shardings_PJRT_Executable_ParameterShardings;
  PJRT_Entry<PJRT_Shardings_PJRT_Executable_OutputShardings_Args>
      PJRT_Shardings_PJRT_Executable_OutputShardings;
};

// ---- Memory descriptions (type 6, version 1)

struct PJRT_MemoryDescription;

// default_memory_index is (size_t)-1 where there is no default.
struct PJRT_DeviceDescription_MemoryDescriptions_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_DeviceDescription* device_description;
  const PJRT_MemoryDescription* const* memory_descriptions;
  size_t num_memory_descriptions;
  size_t default_memory_index;
};
ISTHMUS_PJRT_SIZE(PJRT_DeviceDescription_MemoryDescriptions_Args, default_memory_index);

struct PJRT_MemoryDescription_Kind_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_MemoryDescription* memory_description;
  const char* kind;
  size_t kind_size;
  int kind_id;
};
ISTHMUS_PJRT_SIZE(PJRT_MemoryDescription_Kind_Args, kind_id);

struct PJRT_MemoryDescriptions_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_DeviceDescription_MemoryDescriptions_Args>
      PJRT_DeviceDescription_MemoryDescriptions;
  PJRT_Entry<PJRT_MemoryDescription_Kind_Args> PJRT_MemoryDescription_Kind;
};

// ---- Foreign functions (type 5, version 3)

struct PJRT_FFI_Type_Info {
  void (*deleter)(void* object);
  void (*serialize)();
  void (*deserialize)();
};

// A type_id of 0 asks for a new id; any other is registered under that number.
struct PJRT_FFI_Type_Register_Args {
  ISTHMUS_PJRT_HEAD
  const char* type_name;
  size_t type_name_size;
  int64_t type_id;
  PJRT_FFI_Type_Info* type_info;
};
ISTHMUS_PJRT_SIZE(PJRT_FFI_Type_Register_Args, type_info);

struct PJRT_FFI_UserData {
  int64_t type_id;
  void* data;
};

// Hands `user_data` to the handlers that run under this context. Not owned.
struct PJRT_FFI_UserData_Add_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_ExecuteContext* context;
  PJRT_FFI_UserData user_data;
};
ISTHMUS_PJRT_SIZE(PJRT_FFI_UserData_Add_Args, user_data);

enum PJRT_FFI_Handler_TraitsBits : int {
  PJRT_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1,
};

// `handler` is an XLA_FFI_Handler*. There is no extension_start here.
struct PJRT_FFI_Register_Handler_Args {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  PJRT_FFI_Handler_TraitsBits traits;
};
ISTHMUS_PJRT_SIZE(PJRT_FFI_Register_Handler_Args, traits);

struct PJRT_FFI_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_FFI_Type_Register_Args> type_register;
  PJRT_Entry<PJRT_FFI_UserData_Add_Args> user_data_add;
  PJRT_Entry<PJRT_FFI_Register_Handler_Args> register_handler;
};

// ---- Cross-host transfers (type 12, version 5)
//
// Buffers between devices of different processes. Sender and receiver name the same key.

struct PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  size_t num_buffers;
  PJRT_Buffer** buffers;
  const int32_t* dst_global_device_ids;  // num_buffers of them
  const int64_t* transfer_keys;          // likewise
  PJRT_Event** send_events;              // out: likewise; owned by the caller
};
ISTHMUS_PJRT_SIZE(PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args, send_events);

struct PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
  size_t num_shapes;
  size_t* shape_num_dims;
  const int64_t** num_dims;  // dimensions, for each shape
  PJRT_Buffer_Type* element_types;
  PJRT_Buffer_MemoryLayout** layouts;
  PJRT_Device* device;
  const int32_t* src_global_device_ids;  // num_shapes of them
  const int64_t* transfer_keys;          // likewise
  PJRT_Buffer** buffers;                 // out: likewise; owned by the caller
};
ISTHMUS_PJRT_SIZE(PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args, buffers);

// The older way, whose receivers do not know who sends. More fields follow.
struct PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Client* client;
};
ISTHMUS_PJRT_SIZE(PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args, client);

// The first two belong together.
struct PJRT_CrossHostTransfers_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers_Args>
      PJRT_Transfers_PJRT_Client_MakeCrossHostReceiveBuffers;
  void (*PJRT_Transfers_PJRT_Buffer_CopyToRemoteDevice)();
  PJRT_Entry<PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers_Args>
      PJRT_Transfers_PJRT_Client_CrossHostReceiveBuffers;
  PJRT_Entry<PJRT_Transfers_PJRT_Client_CrossHostSendBuffers_Args>
      PJRT_Transfers_PJRT_Client_CrossHostSendBuffers;
};

// ---- Custom partitioners (type 2, version 1)
//
// Functions of a framework that say how calls of a name are split over devices. Those that fill
// `header` own what `header.data` holds until `header.cleanup_fn` is called with it.

struct JAX_CustomCallPartitioner_string {
  const char* data;
  size_t size;
};

// `shape` is a serialized xla.ShapeProto, `sharding` an xla.OpSharding.
struct JAX_CustomCallPartitioner_aval {
  JAX_CustomCallPartitioner_string shape;
  bool has_sharding;
  JAX_CustomCallPartitioner_string sharding;
};

struct JAX_CustomCallPartitioner_version_and_error {
  int64_t api_version;
  void* data;
  void (*cleanup_fn)(void* data);
  bool has_error;
  PJRT_Error_Code code;
  JAX_CustomCallPartitioner_string error_msg;
};

// In: the operands and the result (a tuple of several), whole, with their shardings. Out: bytecode
// of one device's program, and how its operands and results are split.
struct JAX_CustomCallPartitioner_Partition_Args {
  JAX_CustomCallPartitioner_version_and_error header;
  size_t num_args;
  JAX_CustomCallPartitioner_aval* op_args;
  JAX_CustomCallPartitioner_aval op_result;
  JAX_CustomCallPartitioner_string backend_config;
  JAX_CustomCallPartitioner_string mlir_module;
  JAX_CustomCallPartitioner_string* args_sharding;
  JAX_CustomCallPartitioner_string result_sharding;
};

struct JAX_CustomCallPartitioner_InferShardingFromOperands_Args;
struct JAX_CustomCallPartitioner_PropagateUserSharding_Args;

struct JAX_CustomCallPartitioner_Callbacks {
  int64_t version;
  void* private_data;
  void (*dtor)(JAX_CustomCallPartitioner_Callbacks* data);
  void (*partition)(JAX_CustomCallPartitioner_Callbacks* data,
                    JAX_CustomCallPartitioner_Partition_Args* args);
  void (*infer_sharding)(JAX_CustomCallPartitioner_Callbacks* data,
                         JAX_CustomCallPartitioner_InferShardingFromOperands_Args* args);
  void (*propagate_user_sharding)(JAX_CustomCallPartitioner_Callbacks* data,
                                  JAX_CustomCallPartitioner_PropagateUserSharding_Args* args);
  bool can_side_effecting_have_replicated_sharding;
};

struct PJRT_Register_Custom_Partitioner_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
  JAX_CustomCallPartitioner_Callbacks* callbacks;
};
ISTHMUS_PJRT_SIZE(PJRT_Register_Custom_Partitioner_Args, callbacks);

struct PJRT_Register_Batch_Partitionable_Args {
  size_t struct_size;
  const char* name;
  size_t name_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Register_Batch_Partitionable_Args, name_size);

struct PJRT_Custom_Partitioner_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Register_Custom_Partitioner_Args> register_custom_partitioner;
  PJRT_Entry<PJRT_Register_Batch_Partitionable_Args> register_batch_partitionable;
};

// ---- Untyped custom calls (type 1000): an extension of our own
//
// PJRT's own for this is type 0, but clients take a plugin that has it for one of a GPU.

inline constexpr auto PJRT_Extension_Type_Isthmus_CustomCall =
    static_cast<PJRT_Extension_Type>(1000);

// `function` has one of the signatures of runtime/ffi/call_site.h, which each call names.
struct PJRT_Isthmus_CustomCall_Register_Args {
  ISTHMUS_PJRT_HEAD
  const char* target_name;
  size_t target_name_size;
  const char* platform_name;
  size_t platform_name_size;
  void* function;
};
ISTHMUS_PJRT_SIZE(PJRT_Isthmus_CustomCall_Register_Args, function);

struct PJRT_Isthmus_CustomCall_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Isthmus_CustomCall_Register_Args> register_custom_call;
};

// ---- Streams (type 3, version 0)

struct PJRT_Get_Stream_For_External_Ready_Events_Args {
  size_t struct_size;
  PJRT_Device* device;
  intptr_t stream;
};
ISTHMUS_PJRT_SIZE(PJRT_Get_Stream_For_External_Ready_Events_Args, stream);

struct PJRT_Wait_Until_Buffer_Ready_On_Stream_Args {
  size_t struct_size;
  intptr_t stream;
  PJRT_Buffer* buffer;
};
ISTHMUS_PJRT_SIZE(PJRT_Wait_Until_Buffer_Ready_On_Stream_Args, buffer);

struct PJRT_Stream_Extension {
  PJRT_Extension_Base base;
  PJRT_Entry<PJRT_Get_Stream_For_External_Ready_Events_Args> get_stream;
  PJRT_Entry<PJRT_Wait_Until_Buffer_Ready_On_Stream_Args> wait_stream;
};
