// CompileOptionsProtos, mutated as trees of fields: compiled with, by the C API over a backend of
// hand-written programs, and read back. No thread can be started meanwhile, so that compilation is
// done by who asks: handing it over takes a hundred times as long as it does.
#include <pthread.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "fuzz/inputs/c_api.h"
#include "fuzz/inputs/wire_mutator.h"

namespace {

using namespace isthmus::fuzz;

bool refusesThreads = false;  // libFuzzer starts one of its own before the first input

// The proto that compiled, as the executable remembers it, and its devices.
void checkExecutable(PJRT_LoadedExecutable* loaded) {
  auto get = make<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = loaded;
  expectOk(call(api().PJRT_LoadedExecutable_GetExecutable, get), "GetExecutable");
  auto options = make<PJRT_Executable_GetCompileOptions_Args>();
  options.executable = get.executable;
  expectOk(call(api().PJRT_Executable_GetCompileOptions, options), "GetCompileOptions");
  options.serialized_compile_options_deleter(options.serialized_compile_options);
  auto assignment = make<PJRT_LoadedExecutable_GetDeviceAssignment_Args>();
  assignment.executable = loaded;
  if (call(api().PJRT_LoadedExecutable_GetDeviceAssignment, assignment).ok()) {
    assignment.serialized_device_assignment_deleter(assignment.serialized_device_assignment);
  }
  auto devices = make<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = loaded;
  expectOk(call(api().PJRT_LoadedExecutable_AddressableDevices, devices), "AddressableDevices");
  expect(devices.num_addressable_devices <= kNumDevices, "more devices than there are");
  auto drop = make<PJRT_Executable_Destroy_Args>();
  drop.executable = get.executable;
  expectOk(call(api().PJRT_Executable_Destroy, drop), "Executable_Destroy");
  destroy(loaded);
}

}  // namespace

// The linker calls these for pthread_create, see CMakeLists.txt.
extern "C" decltype(pthread_create) __real_pthread_create;
extern "C" int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                     void* (*function)(void*), void* argument) {
  return refusesThreads ? EAGAIN : __real_pthread_create(thread, attributes, function, argument);
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutateMessage(data, size, maxSize, seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  refusesThreads = true;
  static PJRT_Client* client = createClient();
  Outcome outcome;
  const std::string_view options(reinterpret_cast<const char*>(data), size);
  if (PJRT_LoadedExecutable* loaded = compile(client, "stablehlo.add", options, outcome)) {
    checkExecutable(loaded);
  } else {
    expect(!outcome.ok() && !outcome.message.empty(), "an error without a message");
  }
  return 0;
}
