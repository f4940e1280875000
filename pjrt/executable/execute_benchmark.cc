// What one call costs through the function table, over programs that do next to nothing.
#include <benchmark/benchmark.h>

#include <string>

#include "pjrt/table.h"
#include "pjrt/testing/c_api_calls.h"

namespace isthmus::pjrt {
namespace {

const PJRT_Api& api = *pjrtApi();

struct Setup {
  PJRT_Client* client;
  PJRT_Device* device;
  PJRT_LoadedExecutable* program;
  PJRT_Buffer* argument;

  Setup() {
    auto create = make<PJRT_Client_Create_Args>();
    api.PJRT_Client_Create(&create);
    client = create.client;
    auto devices = make<PJRT_Client_AddressableDevices_Args>();
    devices.client = client;
    api.PJRT_Client_AddressableDevices(&devices);
    device = devices.addressable_devices[0];
    std::string code = "stablehlo.add";
    PJRT_Program text = programOf(code);
    auto compile = make<PJRT_Client_Compile_Args>();
    compile.client = client;
    compile.program = &text;
    api.PJRT_Client_Compile(&compile);
    program = compile.executable;
    argument = upload();
  }

  PJRT_Buffer* upload() {
    static const float data[4] = {1, 2, 3, 4};
    static const int64_t dim = 4;
    auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client;
    args.data = data;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = &dim;
    args.num_dims = 1;
    args.device = device;
    api.PJRT_Client_BufferFromHostBuffer(&args);
    auto event = make<PJRT_Event_Destroy_Args>();
    event.event = args.done_with_host_buffer;
    api.PJRT_Event_Destroy(&event);
    return args.buffer;
  }

  void destroy(PJRT_Buffer* buffer) {
    auto args = make<PJRT_Buffer_Destroy_Args>();
    args.buffer = buffer;
    api.PJRT_Buffer_Destroy(&args);
  }

  PJRT_Buffer* execute() {
    auto options = make<PJRT_ExecuteOptions>();
    PJRT_Buffer* const list[] = {argument, argument};
    PJRT_Buffer* const* const lists[] = {list};
    PJRT_Buffer* result = nullptr;
    PJRT_Buffer** const results[] = {&result};
    auto args = make<PJRT_LoadedExecutable_Execute_Args>();
    args.executable = program;
    args.options = &options;
    args.argument_lists = lists;
    args.num_devices = 1;
    args.num_args = 2;
    args.output_lists = results;
    api.PJRT_LoadedExecutable_Execute(&args);
    return result;
  }
};

Setup& setup() {
  static Setup& instance = *new Setup;
  return instance;
}

void execute(benchmark::State& state) {
  for (auto _ : state) setup().destroy(setup().execute());
}
BENCHMARK(execute);

void executeAndDescribe(benchmark::State& state) {
  for (auto _ : state) {
    PJRT_Buffer* result = setup().execute();
    auto device = make<PJRT_Buffer_Device_Args>();
    device.buffer = result;
    api.PJRT_Buffer_Device(&device);
    auto memory = make<PJRT_Buffer_Memory_Args>();
    memory.buffer = result;
    api.PJRT_Buffer_Memory(&memory);
    benchmark::DoNotOptimize(memory.memory);
    setup().destroy(result);
  }
}
BENCHMARK(executeAndDescribe);

void readyEvent(benchmark::State& state) {
  for (auto _ : state) {
    auto args = make<PJRT_Buffer_ReadyEvent_Args>();
    args.buffer = setup().argument;
    api.PJRT_Buffer_ReadyEvent(&args);
    auto destroy = make<PJRT_Event_Destroy_Args>();
    destroy.event = args.event;
    api.PJRT_Event_Destroy(&destroy);
  }
}
BENCHMARK(readyEvent);

void upload(benchmark::State& state) {
  for (auto _ : state) setup().destroy(setup().upload());
}
BENCHMARK(upload);

}  // namespace
}  // namespace isthmus::pjrt
