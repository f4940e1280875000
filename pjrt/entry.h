// The guard around every entry of the C API: argument sizes, exceptions, and Status to PJRT_Error.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "isthmus/pjrt_c_api.h"
#include "isthmus/status.h"
#include "pjrt/error.h"

namespace isthmus::pjrt {

// The least `struct_size` that an entry accepts. Callers compiled against an older API pass smaller
// structures; fields that were added later are named below and must be guarded by `has`.
template <typename Args>
inline constexpr size_t kRequiredSize = kPjrtStructSize<Args>;

#define ISTHMUS_REQUIRED_UP_TO(type, field) \
  template <>                               \
  inline constexpr size_t kRequiredSize<type> = offsetof(type, field) + sizeof(type::field)

ISTHMUS_REQUIRED_UP_TO(PJRT_Client_Create_Args, client);
ISTHMUS_REQUIRED_UP_TO(PJRT_Client_CreateErrorBuffer_Args, buffer);
ISTHMUS_REQUIRED_UP_TO(PJRT_Client_CreateViewOfDeviceBuffer_Args, buffer);
ISTHMUS_REQUIRED_UP_TO(PJRT_Device_MemoryStats_Args, bytes_in_use);
ISTHMUS_REQUIRED_UP_TO(PJRT_Device_PoisonExecution_Args, poisoned);
ISTHMUS_REQUIRED_UP_TO(PJRT_Executable_GetCompiledMemoryStats_Args, temp_size_in_bytes);
ISTHMUS_REQUIRED_UP_TO(PJRT_Executable_DeserializeAndLoad_Args, loaded_executable);
ISTHMUS_REQUIRED_UP_TO(PJRT_ExecuteOptions, launch_id);
ISTHMUS_REQUIRED_UP_TO(PJRT_Client_DefaultDeviceAssignment_Args, default_assignment);

// True if the caller's structure is large enough to hold `field`.
template <typename Args, typename Field>
bool has(const Args& args, Field Args::* field) {
  const char* begin = reinterpret_cast<const char*>(&args);
  const char* end = reinterpret_cast<const char*>(&(args.*field)) + sizeof(Field);
  return static_cast<size_t>(end - begin) <= args.struct_size;
}

// The field's value, or `otherwise` if the caller's structure is too small to hold it.
template <typename Args, typename Field>
Field getOr(const Args& args, Field Args::* field, Field otherwise) {
  return has(args, field) ? args.*field : otherwise;
}

// Writes `value` if the caller's structure is large enough to hold the field.
template <typename Args, typename Field>
void put(Args& args, Field Args::* field, Field value) {
  if (has(args, field)) args.*field = value;
}

// kInvalidArgument if `args` is null or too small. For structures that arguments point to as well.
template <typename Args>
Status checkSize(const Args* args) {
  if (args == nullptr) return invalidArgument(kPjrtStructName<Args>, " is null");
  if (args->struct_size < kRequiredSize<Args>) {
    return invalidArgument("unexpected ", kPjrtStructName<Args>, " size: expected at least ",
                           kRequiredSize<Args>, ", got ", args->struct_size,
                           "; the framework and the plugin may be of different versions");
  }
  return {};
}

// kInvalidArgument if a handle or an argument that must be there is null.
template <typename Args>
Status checkPresent(const Args&, bool isPresent, std::string_view name) {
  if (isPresent) return {};
  return invalidArgument(kPjrtStructName<Args>, ": `", name, "` is null");
}

namespace internal {

// The error of the exception that is being handled.
PJRT_Error* currentExceptionToError(const char* name) noexcept;

template <auto Function>
struct Entry;

template <typename Args, Status (*Function)(Args&)>
struct Entry<Function> {
  static PJRT_Error* call(Args* args) noexcept {
    try {
      Status status = checkSize(args);
      if (status.ok()) status = Function(*args);
      return toError(std::move(status));
    } catch (...) {
      return currentExceptionToError(kPjrtStructName<Args>);
    }
  }
};

template <typename Args>
struct Stub {
  static PJRT_Error* call(Args*) noexcept {
    try {
      return toError(unimplemented(kPjrtStructName<Args>, ": not implemented by Isthmus"));
    } catch (...) {
      return currentExceptionToError(kPjrtStructName<Args>);
    }
  }
};

}  // namespace internal

// The C entry of a function `Status f(Args&)`.
template <auto Function>
inline constexpr auto kEntry = &internal::Entry<Function>::call;

// An entry that says that it is not implemented.
template <typename Args>
inline constexpr PJRT_Entry<Args> kStub = &internal::Stub<Args>::call;

}  // namespace isthmus::pjrt

// Returns an error from the enclosing entry if `args.field` is null.
#define ISTHMUS_REQUIRE(args, field) \
  ISTHMUS_RETURN_IF_ERROR(::isthmus::pjrt::checkPresent(args, (args).field != nullptr, #field))
