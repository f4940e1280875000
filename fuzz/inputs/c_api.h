// Short forms of calls of the C API for fuzz targets, which end the process when it breaks a
// promise.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pjrt/table.h"
#include "pjrt/testing/c_api_calls.h"

namespace isthmus::fuzz {

inline constexpr size_t kNumDevices = 2;

using pjrt::make;
using pjrt::Outcome;

inline const PJRT_Api& api() { return *pjrt::pjrtApi(); }

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

// Reads and frees an error, which has a code and a message.
inline Outcome consume(PJRT_Error* error) {
  Outcome outcome = pjrt::consume(api(), error);
  expect(error == nullptr || (!outcome.ok() && !outcome.message.empty()),
         "an error has a code and a message");
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
  PJRT_NamedValue option = pjrt::intOption("num_devices", kNumDevices);
  auto args = make<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  expectOk(call(api().PJRT_Client_Create, args), "Client_Create");
  return args.client;
}

// Null if it fails; `outcome` says why.
inline PJRT_LoadedExecutable* compile(PJRT_Client* client, std::string code,
                                      std::string_view options, Outcome& outcome) {
  PJRT_Program program = pjrt::programOf(code);
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
