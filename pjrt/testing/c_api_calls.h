// Arguments and errors of the C API as callers make and read them: for tests, benchmarks and fuzz
// targets, with any test framework or none.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "isthmus/pjrt_c_api.h"

namespace isthmus::pjrt {

// Argument structures as callers make them: sized, everything else zero.
template <typename Args>
Args make() {
  Args args = {};
  args.struct_size = kPjrtStructSize<Args>;
  return args;
}

// An option of a client. `name` outlives it.
inline PJRT_NamedValue intOption(std::string_view name, int64_t value) {
  auto option = make<PJRT_NamedValue>();
  option.name = name.data();
  option.name_size = name.size();
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = value;
  option.value_size = 1;
  return option;
}

// A program as text. Both strings outlive it.
inline PJRT_Program programOf(char* code, size_t size, std::string_view format = "mlir") {
  auto program = make<PJRT_Program>();
  program.code = code;
  program.code_size = size;
  program.format = format.data();
  program.format_size = format.size();
  return program;
}
inline PJRT_Program programOf(std::string& code, std::string_view format = "mlir") {
  return programOf(code.data(), code.size(), format);
}

struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};

// Reads and frees an error; null is none. One without a code ends the process.
inline Outcome consume(const PJRT_Api& api, PJRT_Error* error) {
  if (error == nullptr) return {};
  auto code = make<PJRT_Error_GetCode_Args>();
  code.error = error;
  if (api.PJRT_Error_GetCode(&code) != nullptr) std::abort();
  auto message = make<PJRT_Error_Message_Args>();
  message.error = error;
  api.PJRT_Error_Message(&message);
  Outcome outcome{code.code, std::string(message.message, message.message_size)};
  auto destroy = make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api.PJRT_Error_Destroy(&destroy);
  return outcome;
}

}  // namespace isthmus::pjrt
