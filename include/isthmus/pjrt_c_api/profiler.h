// The profiler extension (type 1, version 1) and the table of functions behind it, which is an
// interface of its own with errors of its own.
#pragma once

#include "isthmus/pjrt_c_api/base.h"

struct PLUGIN_Profiler;
struct PLUGIN_Profiler_Error;
struct PLUGIN_Profiler_ConsumeResult;

struct PLUGIN_Profiler_Error_Destroy_Args {
  size_t struct_size;
  void* priv;
  PLUGIN_Profiler_Error* error;
};

struct PLUGIN_Profiler_Error_Message_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  const char* message;  // has the lifetime of `error`
  size_t message_size;
};

// `code` is one of PJRT_Error_Code.
struct PLUGIN_Profiler_Error_GetCode_Args {
  size_t struct_size;
  void* priv;
  const PLUGIN_Profiler_Error* error;
  int32_t code;
};

// `options` is a serialized tensorflow.ProfileOptions.
struct PLUGIN_Profiler_Create_Args {
  size_t struct_size;
  const char* options;
  size_t options_size;
  PLUGIN_Profiler* profiler;
};

struct PLUGIN_Profiler_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};

struct PLUGIN_Profiler_Start_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};

struct PLUGIN_Profiler_Stop_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
};

// A serialized tensorflow.profiler.XSpace. With a null `buffer`, the plugin sets it to memory of
// its own, which lives until the next call with this profiler.
struct PLUGIN_Profiler_CollectData_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  uint8_t* buffer;
  size_t buffer_size_in_bytes;
};

// Takes what was recorded out of the profiler, to be serialized later.
struct PLUGIN_Profiler_Consume_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* result;
};

struct PLUGIN_Profiler_ConsumeResult_Destroy_Args {
  size_t struct_size;
  PLUGIN_Profiler_ConsumeResult* consume_result;
};

// The bytes belong to the profiler, until the next call with it.
struct PLUGIN_Profiler_Serialize_Args {
  size_t struct_size;
  PLUGIN_Profiler* profiler;
  PLUGIN_Profiler_ConsumeResult* consume_result;
  const uint8_t* serialized_bytes;
  size_t serialized_size;
};

template <typename Args>
using PLUGIN_Profiler_Entry = PLUGIN_Profiler_Error* (*)(Args*);

struct PLUGIN_Profiler_Api {
  size_t struct_size;
  void* priv;
  void (*error_destroy)(PLUGIN_Profiler_Error_Destroy_Args* args);
  void (*error_message)(PLUGIN_Profiler_Error_Message_Args* args);
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Error_GetCode_Args> error_get_code;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Create_Args> create;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Destroy_Args> destroy;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Start_Args> start;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Stop_Args> stop;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_CollectData_Args> collect_data;
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Consume_Args> consume;
  void (*consume_result_destroy)(PLUGIN_Profiler_ConsumeResult_Destroy_Args* args);
  PLUGIN_Profiler_Entry<PLUGIN_Profiler_Serialize_Args> serialize;
};

struct PJRT_Profiler_Extension {
  PJRT_Extension_Base base;
  PLUGIN_Profiler_Api* profiler_api;
  int64_t traceme_context_id;
};
