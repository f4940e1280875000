// The C ABI of XLA's foreign function interface, as handlers compiled against jaxlib's headers
// (xla/ffi/api) speak it: versions 0.3 to 0.5.
//
// Names, field order and numbers are the interface and may not change. The text is ours. Where the
// versions differ, the newer one is declared and `struct_size` says which fields a handler knows.
#pragma once

#include <cstddef>
#include <cstdint>

inline constexpr int XLA_FFI_API_MAJOR = 0;
inline constexpr int XLA_FFI_API_MINOR = 5;

// The size of a structure up to `last`, as it is written into `struct_size`.
template <typename T>
inline constexpr size_t kXlaFfiStructSize = 0;
#define ISTHMUS_XLA_FFI_SIZE(type, last) \
  template <>                            \
  inline constexpr size_t kXlaFfiStructSize<type> = offsetof(type, last) + sizeof(type::last)
#define ISTHMUS_XLA_FFI_HEAD \
  size_t struct_size;        \
  XLA_FFI_InternalExtension* extension_start;

struct XLA_FFI_Api;
struct XLA_FFI_InternalApi;
struct XLA_FFI_Error;
struct XLA_FFI_Future;
// Called XLA_FFI_ExecutionContext up to 0.3.
struct XLA_FFI_InvokeContext;

enum XLA_FFI_InternalExtension_Type : int { XLA_FFI_Extension_Metadata = 1 };

struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  XLA_FFI_InternalExtension* next;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_InternalExtension, next);

struct XLA_FFI_Api_Version {
  ISTHMUS_XLA_FFI_HEAD
  int major_version;
  int minor_version;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Api_Version, minor_version);

// ---- Errors: the codes are those of PJRT_Error_Code

using XLA_FFI_Error_Code = int;

struct XLA_FFI_Error_Create_Args {
  ISTHMUS_XLA_FFI_HEAD
  const char* message;
  XLA_FFI_Error_Code errc;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Error_Create_Args, errc);

// XLA_FFI_Error_GetMessage up to 0.3, which ends with `message`.
struct XLA_FFI_Error_GetDetails_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Error* error;
  const char* message;
  XLA_FFI_Error_Code errc;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Error_GetDetails_Args, errc);

struct XLA_FFI_Error_Destroy_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Error* error;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Error_Destroy_Args, error);

// ---- Values

// The numbers of XLA's PrimitiveType.
enum XLA_FFI_DataType : int {
  XLA_FFI_DataType_INVALID = 0,
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S8 = 2,
  XLA_FFI_DataType_S16 = 3,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U8 = 6,
  XLA_FFI_DataType_U16 = 7,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_C64 = 15,
  XLA_FFI_DataType_BF16 = 16,
  XLA_FFI_DataType_TOKEN = 17,
  XLA_FFI_DataType_C128 = 18,
  XLA_FFI_DataType_F8E5M2 = 19,
  XLA_FFI_DataType_F8E4M3FN = 20,
  XLA_FFI_DataType_S4 = 21,
  XLA_FFI_DataType_U4 = 22,
  XLA_FFI_DataType_F8E4M3B11FNUZ = 23,
  XLA_FFI_DataType_F8E5M2FNUZ = 24,
  XLA_FFI_DataType_F8E4M3FNUZ = 25,
  XLA_FFI_DataType_S2 = 26,
  XLA_FFI_DataType_U2 = 27,
  XLA_FFI_DataType_F8E4M3 = 28,
  XLA_FFI_DataType_F8E3M4 = 29,
  XLA_FFI_DataType_S1 = 30,
  XLA_FFI_DataType_U1 = 31,
  XLA_FFI_DataType_F4E2M1FN = 32,
  XLA_FFI_DataType_F8E8M0FNU = 33,
};

struct XLA_FFI_Buffer {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_DataType dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Buffer, dims);

enum XLA_FFI_ArgType : int { XLA_FFI_ArgType_BUFFER = 1 };
enum XLA_FFI_RetType : int { XLA_FFI_RetType_BUFFER = 1 };
enum XLA_FFI_AttrType : int {
  XLA_FFI_AttrType_ARRAY = 1,
  XLA_FFI_AttrType_DICTIONARY = 2,
  XLA_FFI_AttrType_SCALAR = 3,
  XLA_FFI_AttrType_STRING = 4,
};

struct XLA_FFI_ByteSpan {
  const char* ptr;
  size_t len;
};
struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void* value;
};
struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size;
  void* data;
};

// ---- Calls

enum XLA_FFI_ExecutionStage : int {
  XLA_FFI_ExecutionStage_INSTANTIATE = 0,
  XLA_FFI_ExecutionStage_PREPARE = 1,
  XLA_FFI_ExecutionStage_INITIALIZE = 2,
  XLA_FFI_ExecutionStage_EXECUTE = 3,
  XLA_FFI_ExecutionStage_RECORD = 4,
};

struct XLA_FFI_Args {
  ISTHMUS_XLA_FFI_HEAD
  int64_t size;
  XLA_FFI_ArgType* types;
  void** args;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Args, args);

struct XLA_FFI_Rets {
  ISTHMUS_XLA_FFI_HEAD
  int64_t size;
  XLA_FFI_RetType* types;
  void** rets;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Rets, rets);

// Sorted by name; dictionaries among the values are XLA_FFI_Attrs themselves.
struct XLA_FFI_Attrs {
  ISTHMUS_XLA_FFI_HEAD
  int64_t size;
  XLA_FFI_AttrType* types;
  XLA_FFI_ByteSpan** names;
  void** attrs;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Attrs, attrs);

struct XLA_FFI_CallFrame {
  ISTHMUS_XLA_FFI_HEAD
  const XLA_FFI_Api* api;
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  // Set by a handler whose work goes on after it has returned.
  XLA_FFI_Future* future;
};
// `future` is not counted; handlers demand exactly this size.
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_CallFrame, attrs);

using XLA_FFI_Handler = XLA_FFI_Error*(XLA_FFI_CallFrame*);

// Any stage but `execute` may be null. `record` came with 0.5.
struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler* instantiate;
  XLA_FFI_Handler* prepare;
  XLA_FFI_Handler* initialize;
  XLA_FFI_Handler* execute;
  XLA_FFI_Handler* record;
};

using XLA_FFI_Handler_Traits = uint32_t;

// Up to 0.3 the bundle has no `record`, and the traits are in its place.
struct XLA_FFI_Handler_Register_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Handler_Register_Args, traits);

// ---- What handlers may ask

struct XLA_FFI_TypeId {
  int64_t type_id;  // 0 is unknown
};

struct XLA_FFI_TypeInfo {
  ISTHMUS_XLA_FFI_HEAD
  void (*deleter)(void* object);
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_TypeInfo, deleter);

struct XLA_FFI_Type_Register_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId* type_id;
  const XLA_FFI_TypeInfo* type_info;
};
// `type_info` is not counted, as in the interface's own size.
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Type_Register_Args, type_id);

// XLA_FFI_ExecutionContext_Get up to 0.3: the launch's user data of a type.
struct XLA_FFI_InvokeContext_Get_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_TypeId* type_id;
  void* data;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_InvokeContext_Get_Args, data);

struct XLA_FFI_Extension;
struct XLA_FFI_InvokeContext_FindExtension_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  int64_t extension_type;
  const XLA_FFI_Extension* extension;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_InvokeContext_FindExtension_Args, extension);

struct XLA_FFI_CustomOptions_Get_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  const XLA_FFI_Attrs* attrs;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_CustomOptions_Get_Args, attrs);

// Both XLA_FFI_State_Set_Args and XLA_FFI_State_Get_Args.
struct XLA_FFI_State_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId* type_id;
  void* state;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_State_Args, state);

struct XLA_FFI_Stream_Get_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  void* stream;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Stream_Get_Args, stream);

struct XLA_FFI_DeviceMemory_Allocate_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  size_t size;
  size_t alignment;
  void* data;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_DeviceMemory_Allocate_Args, data);

struct XLA_FFI_DeviceMemory_Free_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  size_t size;
  void* data;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_DeviceMemory_Free_Args, data);

using XLA_FFI_Task = void(void* data);

struct XLA_FFI_ThreadPool_Schedule_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  XLA_FFI_Task* task;
  void* data;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_ThreadPool_Schedule_Args, data);

struct XLA_FFI_ThreadPool_NumThreads_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  int64_t* num_threads;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_ThreadPool_NumThreads_Args, num_threads);

struct XLA_FFI_Future_Create_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Future* future;
};
// The interface counts up to `extension_start`.
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Future_Create_Args, extension_start);

struct XLA_FFI_Future_SetAvailable_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Future* future;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Future_SetAvailable_Args, future);

struct XLA_FFI_Future_SetError_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Future* future;
  XLA_FFI_Error* error;  // becomes the runtime's
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Future_SetError_Args, error);

struct XLA_FFI_RunId_Get_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  int64_t run_id;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_RunId_Get_Args, run_id);

struct XLA_FFI_DeviceOrdinal_Get_Args {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_InvokeContext* ctx;
  int32_t device_ordinal;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal);

// ---- What a handler says about itself, when called with this extension on its frame

struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  XLA_FFI_Handler_Traits traits;
  XLA_FFI_TypeId state_type_id;  // of the state that it makes, or 0
};
// The interface counts up to `traits`.
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Metadata, traits);

struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata* metadata;
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Metadata_Extension, metadata);

// ---- The table

struct XLA_FFI_Api {
  ISTHMUS_XLA_FFI_HEAD
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi* internal_api;

  XLA_FFI_Error* (*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args*);
  void (*XLA_FFI_Error_GetDetails)(XLA_FFI_Error_GetDetails_Args*);
  void (*XLA_FFI_Error_Destroy)(XLA_FFI_Error_Destroy_Args*);
  XLA_FFI_Error* (*XLA_FFI_Handler_Register)(XLA_FFI_Handler_Register_Args*);
  XLA_FFI_Error* (*XLA_FFI_Stream_Get)(XLA_FFI_Stream_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_Type_Register)(XLA_FFI_Type_Register_Args*);
  XLA_FFI_Error* (*XLA_FFI_InvokeContext_Get)(XLA_FFI_InvokeContext_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_State_Set)(XLA_FFI_State_Args*);
  XLA_FFI_Error* (*XLA_FFI_State_Get)(XLA_FFI_State_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceMemory_Allocate)(XLA_FFI_DeviceMemory_Allocate_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceMemory_Free)(XLA_FFI_DeviceMemory_Free_Args*);
  XLA_FFI_Error* (*XLA_FFI_ThreadPool_Schedule)(XLA_FFI_ThreadPool_Schedule_Args*);
  XLA_FFI_Error* (*XLA_FFI_ThreadPool_NumThreads)(XLA_FFI_ThreadPool_NumThreads_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_Create)(XLA_FFI_Future_Create_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_SetAvailable)(XLA_FFI_Future_SetAvailable_Args*);
  XLA_FFI_Error* (*XLA_FFI_Future_SetError)(XLA_FFI_Future_SetError_Args*);
  XLA_FFI_Error* (*XLA_FFI_RunId_Get)(XLA_FFI_RunId_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_DeviceOrdinal_Get)(XLA_FFI_DeviceOrdinal_Get_Args*);
  XLA_FFI_Error* (*XLA_FFI_InvokeContext_FindExtension)(XLA_FFI_InvokeContext_FindExtension_Args*);
  XLA_FFI_Error* (*XLA_FFI_CustomOptions_Get)(XLA_FFI_CustomOptions_Get_Args*);
};
ISTHMUS_XLA_FFI_SIZE(XLA_FFI_Api, XLA_FFI_CustomOptions_Get);
