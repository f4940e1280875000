// The functions of the table: checks of sizes, then the objects of this folder.
#include "runtime/ffi/api.h"

#include <string_view>

#include "runtime/ffi/error.h"
#include "runtime/ffi/future.h"
#include "runtime/ffi/invoke_context.h"
#include "runtime/ffi/registry.h"
#include "runtime/ffi/task_pool.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus::ffi {
namespace {

// The bundle of 0.3 ends before `record`, where its traits are.
constexpr size_t kOldRegisterSize =
    offsetof(XLA_FFI_Handler_Register_Args, bundle) + 4 * sizeof(void*) + sizeof(uint32_t);

template <typename Args>
Status checkSize(const Args* args, std::string_view name, size_t least = kXlaFfiStructSize<Args>) {
  if (args == nullptr) return invalidArgument(name, ": null arguments");
  if (args->struct_size < least) {
    return invalidArgument(name, ": unexpected size of arguments: expected at least ", least,
                           ", got ", args->struct_size);
  }
  return {};
}

template <typename Args>
Status checkContext(const Args* args, std::string_view name) {
  ISTHMUS_RETURN_IF_ERROR(checkSize(args, name));
  if (args->ctx == nullptr) return failedPrecondition(name, ": there is no context");
  return {};
}

std::string_view toView(XLA_FFI_ByteSpan span) { return {span.ptr, span.len}; }

XLA_FFI_Error* errorCreate(XLA_FFI_Error_Create_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_Error_Create"); !bad.ok()) return toError(bad);
  return new XLA_FFI_Error(static_cast<StatusCode>(args->errc),
                           args->message != nullptr ? args->message : "");
}

void errorGetDetails(XLA_FFI_Error_GetDetails_Args* args) {
  if (args == nullptr || args->error == nullptr) return;
  args->message = args->error->message.c_str();
  if (args->struct_size >= kXlaFfiStructSize<XLA_FFI_Error_GetDetails_Args>) {
    args->errc = static_cast<int>(args->error->code);
  }
}

void errorDestroy(XLA_FFI_Error_Destroy_Args* args) {
  if (args != nullptr) delete args->error;
}

XLA_FFI_Error* handlerRegister(XLA_FFI_Handler_Register_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_Handler_Register", kOldRegisterSize); !bad.ok()) {
    return toError(bad);
  }
  Handler handler;
  bool hasRecord = args->struct_size >= kXlaFfiStructSize<XLA_FFI_Handler_Register_Args>;
  handler.bundle = {args->bundle.instantiate, args->bundle.prepare, args->bundle.initialize,
                    args->bundle.execute, hasRecord ? args->bundle.record : nullptr};
  handler.traits =
      hasRecord ? args->traits : *reinterpret_cast<const uint32_t*>(&args->bundle.record);
  return toError(registerHandler(toView(args->name), toView(args->platform), handler));
}

XLA_FFI_Error* typeRegister(XLA_FFI_Type_Register_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_Type_Register"); !bad.ok()) return toError(bad);
  if (args->type_id == nullptr) {
    return toError(invalidArgument("XLA_FFI_Type_Register: `type_id` is null"));
  }
  const XLA_FFI_TypeInfo* info = args->type_info;
  StatusOr<int64_t> id = registerType(toView(args->name), args->type_id->type_id,
                                      info != nullptr ? info->deleter : nullptr);
  if (!id.ok()) return toError(id.status());
  args->type_id->type_id = *id;
  return nullptr;
}

XLA_FFI_Error* contextGet(XLA_FFI_InvokeContext_Get_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_InvokeContext_Get"); !bad.ok()) return toError(bad);
  const UserData* data = args->ctx->userData;
  std::optional<void*> found;
  if (data != nullptr) found = data->find(args->type_id->type_id);
  if (!found) {
    return toError(
        notFound("the execution context has no user data of type id ", args->type_id->type_id));
  }
  args->data = *found;
  return nullptr;
}

StatusOr<State*> stateOf(const XLA_FFI_State_Args* args, std::string_view name) {
  ISTHMUS_RETURN_IF_ERROR(checkContext(args, name));
  if (args->stage < 0 || args->stage >= static_cast<int>(args->ctx->states.size())) {
    return unimplemented(name, ": stage ", static_cast<int>(args->stage), " has no state");
  }
  State* state = args->ctx->states[args->stage];
  if (state == nullptr) {
    return failedPrecondition(name, ": no state of stage ", static_cast<int>(args->stage), " here");
  }
  return state;
}

XLA_FFI_Error* stateSet(XLA_FFI_State_Args* args) {
  StatusOr<State*> state = stateOf(args, "XLA_FFI_State_Set");
  if (!state.ok()) return toError(state.status());
  return toError((*state)->set(args->type_id->type_id, args->state));
}

XLA_FFI_Error* stateGet(XLA_FFI_State_Args* args) {
  StatusOr<State*> state = stateOf(args, "XLA_FFI_State_Get");
  if (!state.ok()) return toError(state.status());
  StatusOr<void*> object = (*state)->get(args->type_id->type_id);
  if (!object.ok()) return toError(object.status());
  args->state = *object;
  return nullptr;
}

XLA_FFI_Error* streamGet(XLA_FFI_Stream_Get_Args*) {
  return toError(unimplemented("XLA_FFI_Stream_Get: this platform has no streams"));
}

XLA_FFI_Error* memoryAllocate(XLA_FFI_DeviceMemory_Allocate_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_DeviceMemory_Allocate"); !bad.ok()) {
    return toError(bad);
  }
  StatusOr<void*> data = args->ctx->allocate(args->size, args->alignment);
  if (!data.ok()) return toError(data.status());
  args->data = *data;
  return nullptr;
}

XLA_FFI_Error* memoryFree(XLA_FFI_DeviceMemory_Free_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_DeviceMemory_Free"); !bad.ok()) return toError(bad);
  return toError(args->ctx->free(args->data));
}

XLA_FFI_Error* threadPoolSchedule(XLA_FFI_ThreadPool_Schedule_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_ThreadPool_Schedule"); !bad.ok()) return toError(bad);
  scheduleTask(args->task, args->data);
  return nullptr;
}

XLA_FFI_Error* threadPoolNumThreads(XLA_FFI_ThreadPool_NumThreads_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_ThreadPool_NumThreads"); !bad.ok()) return toError(bad);
  *args->num_threads = computeThreads();
  return nullptr;
}

XLA_FFI_Error* futureCreate(XLA_FFI_Future_Create_Args* args) {
  if (args == nullptr) return toError(invalidArgument("XLA_FFI_Future_Create: null arguments"));
  args->future = new XLA_FFI_Future;
  return nullptr;
}

XLA_FFI_Error* futureSetAvailable(XLA_FFI_Future_SetAvailable_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_Future_SetAvailable"); !bad.ok()) return toError(bad);
  args->future->complete({});
  return nullptr;
}

XLA_FFI_Error* futureSetError(XLA_FFI_Future_SetError_Args* args) {
  if (Status bad = checkSize(args, "XLA_FFI_Future_SetError"); !bad.ok()) return toError(bad);
  if (args->error == nullptr) {
    return toError(invalidArgument("XLA_FFI_Future_SetError: `error` is null"));
  }
  args->future->complete(toStatus(args->error));
  return nullptr;
}

XLA_FFI_Error* runIdGet(XLA_FFI_RunId_Get_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_RunId_Get"); !bad.ok()) return toError(bad);
  args->run_id = args->ctx->runId;
  return nullptr;
}

XLA_FFI_Error* deviceOrdinalGet(XLA_FFI_DeviceOrdinal_Get_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_DeviceOrdinal_Get"); !bad.ok()) return toError(bad);
  args->device_ordinal = args->ctx->deviceOrdinal;
  return nullptr;
}

XLA_FFI_Error* findExtension(XLA_FFI_InvokeContext_FindExtension_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_InvokeContext_FindExtension"); !bad.ok()) {
    return toError(bad);
  }
  args->extension = nullptr;
  return nullptr;
}

XLA_FFI_Error* customOptionsGet(XLA_FFI_CustomOptions_Get_Args* args) {
  if (Status bad = checkContext(args, "XLA_FFI_CustomOptions_Get"); !bad.ok()) return toError(bad);
  static const XLA_FFI_Attrs none = {
      kXlaFfiStructSize<XLA_FFI_Attrs>, nullptr, 0, nullptr, nullptr, nullptr};
  args->attrs = &none;
  return nullptr;
}

}  // namespace

const XLA_FFI_Api& api() {
  static const XLA_FFI_Api table = {
      .struct_size = kXlaFfiStructSize<XLA_FFI_Api>,
      .extension_start = nullptr,
      .api_version = {kXlaFfiStructSize<XLA_FFI_Api_Version>, nullptr, XLA_FFI_API_MAJOR,
                      XLA_FFI_API_MINOR},
      .internal_api = nullptr,
      .XLA_FFI_Error_Create = errorCreate,
      .XLA_FFI_Error_GetDetails = errorGetDetails,
      .XLA_FFI_Error_Destroy = errorDestroy,
      .XLA_FFI_Handler_Register = handlerRegister,
      .XLA_FFI_Stream_Get = streamGet,
      .XLA_FFI_Type_Register = typeRegister,
      .XLA_FFI_InvokeContext_Get = contextGet,
      .XLA_FFI_State_Set = stateSet,
      .XLA_FFI_State_Get = stateGet,
      .XLA_FFI_DeviceMemory_Allocate = memoryAllocate,
      .XLA_FFI_DeviceMemory_Free = memoryFree,
      .XLA_FFI_ThreadPool_Schedule = threadPoolSchedule,
      .XLA_FFI_ThreadPool_NumThreads = threadPoolNumThreads,
      .XLA_FFI_Future_Create = futureCreate,
      .XLA_FFI_Future_SetAvailable = futureSetAvailable,
      .XLA_FFI_Future_SetError = futureSetError,
      .XLA_FFI_RunId_Get = runIdGet,
      .XLA_FFI_DeviceOrdinal_Get = deviceOrdinalGet,
      .XLA_FFI_InvokeContext_FindExtension = findExtension,
      .XLA_FFI_CustomOptions_Get = customOptionsGet,
  };
  return table;
}

}  // namespace isthmus::ffi
