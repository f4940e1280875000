// One pass through the life of a program by the C API.
#include "test/faults/scenario.h"

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "pjrt/testing/c_api_calls.h"

namespace isthmus::faults {
namespace {

constexpr size_t kDevices = 2;
constexpr int64_t kSide = 8;
constexpr size_t kElements = kSide * kSide;
char lastError[512];

// For x of equal elements v: x·x has 8v² everywhere, three times 1 is added, and the devices' are
// summed.
constexpr char kProgram[] = R"(
module @m attributes {mhlo.num_replicas = 2 : i32} {
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %1:2 = stablehlo.while(%i = %zero, %y = %0) : tensor<i32>, tensor<8x8xf32>
  cond {
    %2 = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ones = stablehlo.constant dense<1.0> : tensor<8x8xf32>
    %2 = stablehlo.add %i, %one : tensor<i32>
    %3 = stablehlo.add %y, %ones : tensor<8x8xf32>
    stablehlo.return %2, %3 : tensor<i32>, tensor<8x8xf32>
  }
  %4 = "stablehlo.all_reduce"(%1#1) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %5 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %5 : tensor<f32>
  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
})";
constexpr float expectedElement(float a, float b) { return 8 * a * a + 3 + 8 * b * b + 3; }

using pjrt::make;

class Scenario {
 public:
  explicit Scenario(const PJRT_Api& api) : api_(api) {}

  Result run() {
    const bool isDone =
        createClient() && compile() && execute(loaded_) && serialize() && execute(reloaded_);
    release();
    if (isWrong_) return Result::kWrong;
    return isDone ? Result::kRight : Result::kError;
  }

 private:
  bool wrong(const char* what) {
    std::snprintf(lastError, sizeof(lastError), "%s", what);
    isWrong_ = true;
    return false;
  }

  bool ok(PJRT_Error* error) {
    if (error == nullptr) return true;
    auto message = make<PJRT_Error_Message_Args>();
    message.error = error;
    api_.PJRT_Error_Message(&message);
    const size_t size = message.message_size < 511 ? message.message_size : 511;
    std::memcpy(lastError, message.message, size);
    lastError[size] = '\0';
    auto destroy = make<PJRT_Error_Destroy_Args>();
    destroy.error = error;
    api_.PJRT_Error_Destroy(&destroy);
    return size == 0 ? wrong("an error without a message") : false;
  }

  bool finish(PJRT_Event* event) {
    auto await = make<PJRT_Event_Await_Args>();
    await.event = event;
    const bool isGood = ok(api_.PJRT_Event_Await(&await));
    auto destroy = make<PJRT_Event_Destroy_Args>();
    destroy.event = event;
    ok(api_.PJRT_Event_Destroy(&destroy));
    return isGood;
  }

  bool createClient() {
    PJRT_NamedValue option = pjrt::intOption("num_devices", kDevices);
    auto args = make<PJRT_Client_Create_Args>();
    args.create_options = &option;
    args.num_options = 1;
    if (!ok(api_.PJRT_Client_Create(&args))) return false;
    client_ = args.client;
    auto devices = make<PJRT_Client_AddressableDevices_Args>();
    devices.client = client_;
    if (!ok(api_.PJRT_Client_AddressableDevices(&devices))) return false;
    for (size_t i = 0; i < kDevices; ++i) devices_[i] = devices.addressable_devices[i];
    return true;
  }

  bool compile() {
    // CompileOptionsProto { executable_build_options { num_replicas: 2, num_partitions: 1 } }
    constexpr char kOptions[] = "\x1a\x04\x20\x02\x28\x01";
    char code[sizeof(kProgram)];
    std::memcpy(code, kProgram, sizeof(code));
    PJRT_Program program = pjrt::programOf(code, sizeof(code) - 1);
    auto args = make<PJRT_Client_Compile_Args>();
    args.client = client_;
    args.program = &program;
    args.compile_options = kOptions;
    args.compile_options_size = sizeof(kOptions) - 1;
    if (!ok(api_.PJRT_Client_Compile(&args))) return false;
    loaded_ = args.executable;
    return true;
  }

  bool fromHost(size_t device, const float* data) {
    const int64_t dims[] = {kSide, kSide};
    auto args = make<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client_;
    args.data = data;
    args.type = PJRT_Buffer_Type_F32;
    args.dims = dims;
    args.num_dims = 2;
    args.device = devices_[device];
    if (!ok(api_.PJRT_Client_BufferFromHostBuffer(&args))) return false;
    inputs_[device] = args.buffer;
    return finish(args.done_with_host_buffer);
  }

  bool execute(PJRT_LoadedExecutable* executable) {
    float data[kDevices][kElements];
    PJRT_Event* complete[kDevices] = {};
    bool isGood = true;
    for (size_t i = 0; i < kDevices && isGood; ++i) {
      for (float& value : data[i]) value = static_cast<float>(i + 1);
      isGood = fromHost(i, data[i]);
    }
    if (isGood) {
      auto options = make<PJRT_ExecuteOptions>();
      PJRT_Buffer* const* arguments[] = {&inputs_[0], &inputs_[1]};
      PJRT_Buffer** outputs[] = {&outputs_[0], &outputs_[1]};
      auto args = make<PJRT_LoadedExecutable_Execute_Args>();
      args.executable = executable;
      args.options = &options;
      args.argument_lists = arguments;
      args.num_devices = kDevices;
      args.num_args = 1;
      args.output_lists = outputs;
      args.device_complete_events = complete;
      isGood = ok(api_.PJRT_LoadedExecutable_Execute(&args));
    }
    for (PJRT_Event* event : complete) {
      if (event != nullptr) isGood &= finish(event);
    }
    for (size_t i = 0; i < kDevices && isGood; ++i) isGood = checkOutput(i);
    for (PJRT_Buffer*& buffer : inputs_) destroy(buffer);
    for (PJRT_Buffer*& buffer : outputs_) destroy(buffer);
    return isGood;
  }

  bool checkOutput(size_t device) {
    float values[kElements];
    auto args = make<PJRT_Buffer_ToHostBuffer_Args>();
    args.src = outputs_[device];
    args.dst = values;
    args.dst_size = sizeof(values);
    if (!ok(api_.PJRT_Buffer_ToHostBuffer(&args)) || !finish(args.event)) return false;
    for (float value : values) {
      if (value != expectedElement(1, 2)) return wrong("a wrong result");
    }
    return true;
  }

  bool serialize() {
    auto get = make<PJRT_LoadedExecutable_GetExecutable_Args>();
    get.loaded_executable = loaded_;
    if (!ok(api_.PJRT_LoadedExecutable_GetExecutable(&get))) return false;
    executable_ = get.executable;
    auto args = make<PJRT_Executable_Serialize_Args>();
    args.executable = executable_;
    if (!ok(api_.PJRT_Executable_Serialize(&args))) return false;
    auto load = make<PJRT_Executable_DeserializeAndLoad_Args>();
    load.client = client_;
    load.serialized_executable = args.serialized_bytes;
    load.serialized_executable_size = args.serialized_bytes_size;
    const bool isGood = ok(api_.PJRT_Executable_DeserializeAndLoad(&load));
    args.serialized_executable_deleter(args.serialized_executable);
    if (isGood) reloaded_ = load.loaded_executable;
    return isGood;
  }

  void destroy(PJRT_Buffer*& buffer) {
    if (buffer == nullptr) return;
    auto args = make<PJRT_Buffer_Destroy_Args>();
    args.buffer = buffer;
    ok(api_.PJRT_Buffer_Destroy(&args));
    buffer = nullptr;
  }

  // Nothing that frees may fail.
  void release() {
    for (PJRT_LoadedExecutable* executable : {loaded_, reloaded_}) {
      if (executable == nullptr) continue;
      auto args = make<PJRT_LoadedExecutable_Destroy_Args>();
      args.executable = executable;
      if (!ok(api_.PJRT_LoadedExecutable_Destroy(&args))) wrong("an executable is not destroyed");
    }
    if (executable_ != nullptr) {
      auto args = make<PJRT_Executable_Destroy_Args>();
      args.executable = executable_;
      if (!ok(api_.PJRT_Executable_Destroy(&args))) wrong("an executable is not destroyed");
    }
    if (client_ != nullptr) {
      auto args = make<PJRT_Client_Destroy_Args>();
      args.client = client_;
      if (!ok(api_.PJRT_Client_Destroy(&args))) wrong("the client is not destroyed");
    }
  }

  const PJRT_Api& api_;
  bool isWrong_ = false;
  PJRT_Client* client_ = nullptr;
  PJRT_Device* devices_[kDevices] = {};
  PJRT_LoadedExecutable* loaded_ = nullptr;
  PJRT_LoadedExecutable* reloaded_ = nullptr;
  PJRT_Executable* executable_ = nullptr;
  PJRT_Buffer* inputs_[kDevices] = {};
  PJRT_Buffer* outputs_[kDevices] = {};
};

}  // namespace

Result runScenario(const PJRT_Api& api) {
  lastError[0] = '\0';
  return Scenario(api).run();
}

const char* scenarioError() { return lastError; }

}  // namespace isthmus::faults
