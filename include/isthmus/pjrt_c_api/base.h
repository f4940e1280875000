// Errors, named values, events and extensions of the PJRT C API.
//
// Names, field order and numbers are the interface and may not change. The text is ours.
#pragma once

#include <cstddef>
#include <cstdint>

// The two fields that open every argument structure: the size that the caller compiled with, and a
// list of extensions.
#define ISTHMUS_PJRT_HEAD \
  size_t struct_size;     \
  PJRT_Extension_Base* extension_start;

// The size of a structure without the padding at its end, as callers write it into `struct_size`.
template <typename T>
inline constexpr size_t kPjrtStructSize = 0;
template <typename T>
inline constexpr const char* kPjrtStructName = "";
#define ISTHMUS_PJRT_SIZE(type, last)                                                        \
  template <>                                                                                \
  inline constexpr size_t kPjrtStructSize<type> = offsetof(type, last) + sizeof(type::last); \
  template <>                                                                                \
  inline constexpr const char* kPjrtStructName<type> = #type

inline constexpr int PJRT_API_MAJOR = 0;
inline constexpr int PJRT_API_MINOR = 112;

struct PJRT_Error;
struct PJRT_Event;

// Enumerations have a fixed type, so that numbers of newer versions can be held and refused.
enum PJRT_Extension_Type : int {
  PJRT_Extension_Type_Gpu_Custom_Call = 0,
  PJRT_Extension_Type_Profiler = 1,
  PJRT_Extension_Type_Custom_Partitioner = 2,
  PJRT_Extension_Type_Stream = 3,
  PJRT_Extension_Type_Layouts = 4,
  PJRT_Extension_Type_FFI = 5,
  PJRT_Extension_Type_MemoryDescriptions = 6,
  PJRT_Extension_Type_Triton = 7,
  PJRT_Extension_Type_RawBuffer = 8,
  PJRT_Extension_Type_PhaseCompile = 9,
  PJRT_Extension_Type_Example = 10,
  PJRT_Extension_Type_Unknown = 11,
  PJRT_Extension_Type_CrossHostTransfers = 12,
  PJRT_Extension_Type_ExecutableMetadata = 13,
  PJRT_Extension_Type_Callback = 14,
  PJRT_Extension_Type_HostAllocator = 15,
  PJRT_Extension_Type_TpuTopology = 16,
  PJRT_Extension_Type_TpuExecutable = 17,
  PJRT_Extension_Type_Megascale = 18,
  PJRT_Extension_Type_Shardings = 19,
  PJRT_Extension_Type_AbiVersion = 20,
  PJRT_Extension_Type_Collectives = 21,
  PJRT_Extension_Type_MultiSlice = 22,
  PJRT_Extension_Type_HostMemoryAllocator = 23,
  PJRT_Extension_Type_XlaTransform = 24,
};

// A node of a singly linked list of optional features, hung on the table or on one call's
// arguments. Whoever reads a list skips the types that it does not know.
struct PJRT_Extension_Base {
  size_t struct_size;
  PJRT_Extension_Type type;
  PJRT_Extension_Base* next;
};
ISTHMUS_PJRT_SIZE(PJRT_Extension_Base, next);

// The type of an entry of a function table: null on success, otherwise an error that the caller
// owns.
template <typename Args>
using PJRT_Entry = PJRT_Error* (*)(Args*);

struct PJRT_Api_Version {
  ISTHMUS_PJRT_HEAD
  int major_version;
  int minor_version;
};
ISTHMUS_PJRT_SIZE(PJRT_Api_Version, minor_version);

// ---- Errors

enum PJRT_Error_Code : int {
  PJRT_Error_Code_OK = 0,
  PJRT_Error_Code_CANCELLED = 1,
  PJRT_Error_Code_UNKNOWN = 2,
  PJRT_Error_Code_INVALID_ARGUMENT = 3,
  PJRT_Error_Code_DEADLINE_EXCEEDED = 4,
  PJRT_Error_Code_NOT_FOUND = 5,
  PJRT_Error_Code_ALREADY_EXISTS = 6,
  PJRT_Error_Code_PERMISSION_DENIED = 7,
  PJRT_Error_Code_RESOURCE_EXHAUSTED = 8,
  PJRT_Error_Code_FAILED_PRECONDITION = 9,
  PJRT_Error_Code_ABORTED = 10,
  PJRT_Error_Code_OUT_OF_RANGE = 11,
  PJRT_Error_Code_UNIMPLEMENTED = 12,
  PJRT_Error_Code_INTERNAL = 13,
  PJRT_Error_Code_UNAVAILABLE = 14,
  PJRT_Error_Code_DATA_LOSS = 15,
  PJRT_Error_Code_UNAUTHENTICATED = 16,
};

using PJRT_Error_PayloadVisitor = void (*)(const char* key, size_t key_size, const char* value,
                                           size_t value_size, void* user_arg);
// Given to the framework's callbacks, which make their errors with it.
using PJRT_CallbackError = PJRT_Error* (*)(PJRT_Error_Code code, const char* message,
                                           size_t message_size);

// The first word of every error points to one of these, so that an error can be read and destroyed
// without knowing which plugin made it.
struct PJRT_Error_FunctionTable {
  size_t struct_size;
  size_t instance_size;
  PJRT_Extension_Base* extension_start;
  void (*destroy)(PJRT_Error* error);
  void (*message)(const PJRT_Error* error, const char** message, size_t* message_size);
  PJRT_Error_Code (*get_code)(const PJRT_Error* error);
  void (*for_each_payload)(const PJRT_Error* error, PJRT_Error_PayloadVisitor visitor,
                           void* user_arg);
};
ISTHMUS_PJRT_SIZE(PJRT_Error_FunctionTable, for_each_payload);

struct PJRT_Error {
  const PJRT_Error_FunctionTable* vtable;
};

// `error` may be null.
struct PJRT_Error_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Error* error;
};
ISTHMUS_PJRT_SIZE(PJRT_Error_Destroy_Args, error);

// The message lives as long as the error and is not terminated by a zero.
struct PJRT_Error_Message_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_Error* error;
  const char* message;
  size_t message_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Error_Message_Args, message_size);

struct PJRT_Error_GetCode_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_Error* error;
  PJRT_Error_Code code;
};
ISTHMUS_PJRT_SIZE(PJRT_Error_GetCode_Args, code);

struct PJRT_Error_ForEachPayload_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_Error* error;
  PJRT_Error_PayloadVisitor visitor;
  void* user_arg;
};
ISTHMUS_PJRT_SIZE(PJRT_Error_ForEachPayload_Args, user_arg);

// ---- Named values and the plugin

enum PJRT_NamedValue_Type : int {
  PJRT_NamedValue_kString = 0,
  PJRT_NamedValue_kInt64 = 1,
  PJRT_NamedValue_kInt64List = 2,
  PJRT_NamedValue_kFloat = 3,
  PJRT_NamedValue_kBool = 4,
};

// A named option or attribute. `value_size` is the length of a string or of a list, otherwise 1.
struct PJRT_NamedValue {
  ISTHMUS_PJRT_HEAD
  const char* name;
  size_t name_size;
  PJRT_NamedValue_Type type;
  union {
    const char* string_value;
    int64_t int64_value;
    const int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};
ISTHMUS_PJRT_SIZE(PJRT_NamedValue, value_size);

struct PJRT_Plugin_Initialize_Args {
  ISTHMUS_PJRT_HEAD
};
ISTHMUS_PJRT_SIZE(PJRT_Plugin_Initialize_Args, extension_start);

struct PJRT_Plugin_Attributes_Args {
  ISTHMUS_PJRT_HEAD
  const PJRT_NamedValue* attributes;
  size_t num_attributes;
};
ISTHMUS_PJRT_SIZE(PJRT_Plugin_Attributes_Args, num_attributes);

// ---- Events

using PJRT_Event_OnReadyCallback = void (*)(PJRT_Error* error, void* user_arg);

struct PJRT_Event_Destroy_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_Destroy_Args, event);

struct PJRT_Event_IsReady_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
  bool is_ready;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_IsReady_Args, is_ready);

// Allowed only once the event is ready. The caller owns the returned error.
struct PJRT_Event_Error_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_Error_Args, event);

// Blocks until the event is ready and returns its error, owned by the caller.
struct PJRT_Event_Await_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_Await_Args, event);

// `callback` runs exactly once, now or later, on any thread, and owns the error that it is given.
struct PJRT_Event_OnReady_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
  PJRT_Event_OnReadyCallback callback;
  void* user_arg;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_OnReady_Args, user_arg);

// An event that becomes ready by PJRT_Event_Set.
struct PJRT_Event_Create_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_Create_Args, event);

struct PJRT_Event_Set_Args {
  ISTHMUS_PJRT_HEAD
  PJRT_Event* event;
  PJRT_Error_Code error_code;
  const char* error_message;
  size_t error_message_size;
};
ISTHMUS_PJRT_SIZE(PJRT_Event_Set_Args, error_message_size);
