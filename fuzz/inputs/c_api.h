// Short forms of calls of the C API for fuzz targets, which end the process when it breaks a
// promise.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "isthmus/pjrt_c_api.h"
#include "pjrt/table.h"

namespace isthmus::fuzz {

inline constexpr size_t kNumDevices = 2;

// Argument structures as callers make them: sized, everything else zero.
template <typename Args>
Args make() {
  Args args = {};
  args.struct_size = kPjrtStructSize<Args>;
  return args;
}

struct Outcome {
  PJRT_Error_Code code = PJRT_Error_Code_OK;
  std::string message;
  bool ok() const { return code == PJRT_Error_Code_OK; }
};

inline const PJRT_Api& api() { return *pjrt::pjrtApi(); }

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Reads and frees an error, as callers do.
inline Outcome consume(PJRT_Error* error) {
  if (error == nullptr) return {};
  auto code = make<PJRT_Error_GetCode_Args>();
  code.error = error;
  expect(api().PJRT_Error_GetCode(&code) == nullptr, "an error has a code");
  auto message = make<PJRT_Error_Message_Args>();
  message.error = error;
  api().PJRT_Error_Message(&message);
  Outcome outcome{code.code, std::string(message.message, message.message_size)};
  auto destroy = make<PJRT_Error_Destroy_Args>();
  destroy.error = error;
  api().PJRT_Error_Destroy(&destroy);
  expect(!outcome.ok() && !outcome.message.empty(), "an error has a code and a message");
  return outcome;
}

template <typename Args>
Outcome call(PJRT_Entry<Args> entry, Args& args) {
  return consume(entry(&args));
}

inline void expectOk(const Outcome& outcome, const char* what) {
  if (outcome.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, outcome.message.c_str());
  std::abort();
}

// A client of kNumDevices devices.
inline PJRT_Client* createClient() {
  auto option = make<PJRT_NamedValue>();
  option.name = "num_devices";
  option.name_size = 11;
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = kNumDevices;
  option.value_size = 1;
  auto args = make<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  expectOk(call(api().PJRT_Client_Create, args), "Client_Create");
  return args.client;
}

// Null if it fails; `outcome` says why.
inline PJRT_LoadedExecutable* compile(PJRT_Client* client, std::string code,
                                      std::string_view options, Outcome& outcome) {
  auto program = make<PJRT_Program>();
  program.code = code.data();
  program.code_size = code.size();
  program.format = "mlir";
  program.format_size = 4;
  auto args = make<PJRT_Client_Compile_Args>();
  args.client = client;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  outcome = call(api().PJRT_Client_Compile, args);
  return outcome.ok() ? args.executable : nullptr;
}

inline void destroy(PJRT_LoadedExecutable* executable) {
  auto args = make<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable;
  expectOk(call(api().PJRT_LoadedExecutable_Destroy, args), "LoadedExecutable_Destroy");
}

}  // namespace isthmus::fuzz
