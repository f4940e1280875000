// The process's handlers and the types of their states and user data, by name.
//
// Everything may be called from any thread. Nothing is ever taken out: compiled programs hold what
// they found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "isthmus/status.h"
#include "isthmus/xla_ffi_c_api.h"

namespace isthmus::ffi {

struct Handler {
  // Typed handlers, of which `execute` is there; or none, and `untyped` is there: a function of
  // one of the older custom call signatures, which the program's call names.
  XLA_FFI_Handler_Bundle bundle{};
  void* untyped = nullptr;
  XLA_FFI_Handler_Traits traits = 0;

  bool isTyped() const { return bundle.execute != nullptr; }
};

// Platforms are compared without case; "host" is another name of "cpu", and the empty name is this
// plugin's own platform. Registering the same functions again is no error. kInvalidArgument if a
// typed handler has no `execute` or was compiled for another major version of the interface;
// kAlreadyExists if the name has other functions.
Status registerHandler(std::string_view target, std::string_view platform, const Handler& handler);

// One of this plugin's own platform, else one of the CPU.
std::optional<Handler> findHandler(std::string_view target);

struct TypeInfo {
  std::string name;
  void (*deleter)(void* object) = nullptr;
};

// Gives the type a new id if `typeId` is 0, else uses that one. A name that is there already keeps
// its id; another one for it is kInvalidArgument, as is an id that has another name.
StatusOr<int64_t> registerType(std::string_view name, int64_t typeId,
                               void (*deleter)(void* object));
std::optional<TypeInfo> findType(int64_t typeId);

}  // namespace isthmus::ffi
