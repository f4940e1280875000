// The entries of PJRT_Error.
#include "pjrt/error.h"

#include <string>

#include "pjrt/bindings.h"
#include "pjrt/entry.h"

namespace isthmus::pjrt {
namespace {

struct Error : PJRT_Error {
  Status status;
};

const Error& impl(const PJRT_Error* error) { return *static_cast<const Error*>(error); }

void vtableMessage(const PJRT_Error* error, const char** message, size_t* messageSize) {
  *message = impl(error).status.message().data();
  *messageSize = impl(error).status.message().size();
}

PJRT_Error_Code vtableGetCode(const PJRT_Error* error) {
  return static_cast<PJRT_Error_Code>(impl(error).status.code());
}

// Our errors carry no payloads.
void vtableForEachPayload(const PJRT_Error*, PJRT_Error_PayloadVisitor, void*) {}

constexpr PJRT_Error_FunctionTable kVtable = {
    .struct_size = sizeof(PJRT_Error_FunctionTable),
    .instance_size = sizeof(Error),
    .extension_start = nullptr,
    .destroy = &destroyError,
    .message = &vtableMessage,
    .get_code = &vtableGetCode,
    .for_each_payload = &vtableForEachPayload,
};

// What `toError` returns when there is no memory left for an error.
Error& outOfMemory() {
  static Error& error =
      *new Error{{&kVtable}, Status(StatusCode::kResourceExhausted, "out of host memory")};
  return error;
}

void errorDestroy(PJRT_Error_Destroy_Args* args) {
  if (args != nullptr) destroyError(args->error);
}

void errorMessage(PJRT_Error_Message_Args* args) {
  if (args == nullptr) return;
  args->message = "";
  args->message_size = 0;
  if (args->error != nullptr) vtableMessage(args->error, &args->message, &args->message_size);
}

Status errorGetCode(PJRT_Error_GetCode_Args& args) {
  args.code = static_cast<PJRT_Error_Code>(toStatus(args.error).code());
  return {};
}

Status errorForEachPayload(PJRT_Error_ForEachPayload_Args& args) {
  ISTHMUS_REQUIRE(args, error);
  return {};
}

}  // namespace

PJRT_Error* toError(Status status) noexcept {
  if (status.ok()) return nullptr;
  // A caller sees the message alone.
  if (status.place().file != nullptr) {
    try {
      status = Status(status.code(), status.messageWithPlace());
    } catch (...) {
      return &outOfMemory();
    }
  }
  Error* error = new (std::nothrow) Error{{&kVtable}, std::move(status)};
  return error != nullptr ? error : &outOfMemory();
}

Status toStatus(const PJRT_Error* error) {
  return error == nullptr ? Status() : impl(error).status;
}

void destroyError(PJRT_Error* error) noexcept {
  if (error != nullptr && error != &outOfMemory()) delete static_cast<Error*>(error);
}

Status takeStatus(PJRT_Error* error) {
  Status status = toStatus(error);
  destroyError(error);
  return status;
}

Status statusFromParts(PJRT_Error_Code code, const char* message, size_t messageSize) {
  auto value = static_cast<int32_t>(code);
  bool known = value >= 0 && value <= static_cast<int32_t>(StatusCode::kUnauthenticated);
  std::string text(message == nullptr ? "" : message, message == nullptr ? 0 : messageSize);
  return Status(known ? static_cast<StatusCode>(value) : StatusCode::kUnknown, std::move(text));
}

PJRT_Error* callbackError(PJRT_Error_Code code, const char* message, size_t messageSize) {
  try {
    return toError(statusFromParts(code, message, messageSize));
  } catch (...) {
    return internal::currentExceptionToError("PJRT_CallbackError");
  }
}

PJRT_Error* internal::currentExceptionToError(const char* name) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return &outOfMemory();
  } catch (const std::exception& exception) {
    try {
      return toError(internalError(name, ": exception: ", exception.what()));
    } catch (...) {
      return &outOfMemory();
    }
  } catch (...) {
    try {
      return toError(internalError(name, ": unknown exception"));
    } catch (...) {
      return &outOfMemory();
    }
  }
}

void bindError(PJRT_Api& api) {
  // Made now, while there is memory.
  outOfMemory();
  api.PJRT_Error_Destroy = &errorDestroy;
  api.PJRT_Error_Message = &errorMessage;
  api.PJRT_Error_GetCode = kEntry<&errorGetCode>;
  api.PJRT_Error_ForEachPayload = kEntry<&errorForEachPayload>;
}

}  // namespace isthmus::pjrt
