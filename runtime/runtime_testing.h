// What tests of the runtime share: a client of devices whose programs are functions of the test.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/simulated/function_backend.h"
#include "runtime/client.h"
#include "runtime/executable/loaded_executable.h"

namespace isthmus::testing {

using simulated::Function;
using simulated::FunctionBackend;
using simulated::FunctionExecutable;

inline ArrayType f32(std::vector<int64_t> dims) { return {ElementType::kF32, std::move(dims)}; }

inline ParameterSpec parameter(ArrayType type, DonationKind donation = DonationKind::kNone,
                               int aliasedOutput = -1) {
  ParameterSpec spec;
  spec.type = std::move(type);
  spec.donation = donation;
  spec.aliasedOutput = aliasedOutput;
  return spec;
}

inline BufferSpec output(ArrayType type) {
  BufferSpec spec;
  spec.type = std::move(type);
  return spec;
}

// A client, and short ways to make buffers and programs and to read results.
struct Fixture {
  explicit Fixture(int64_t devices = 1) {
    client = std::move(Client::create(backend, {{"num_devices", devices}})).value();
  }

  Device& device(size_t i = 0) { return *client->devices()[i]; }
  Memory& memory(size_t i = 0) { return *device(i).defaultMemory(); }

  BufferRef buffer(const std::vector<float>& values, size_t device = 0) {
    HostArray array;
    array.data = values.data();
    array.type = f32({static_cast<int64_t>(values.size())});
    return std::move(client->bufferFromHost(memory(device), array)).value().buffer;
  }

  // A float that is not there until the promise is fulfilled.
  std::pair<BufferRef, std::unique_ptr<AliasPromise>> alias() {
    return AliasPromise::make(memory(), std::make_shared<const ArrayType>(f32({1})));
  }

  Ref<LoadedExecutable> load(ProgramInfo info, Function function, bool isCheap = false,
                             bool callsUserCode = false) {
    simulated::Habits habits{.isCheap = isCheap, .callsUserCode = callsUserCode};
    return std::move(client->load(std::make_shared<FunctionExecutable>(
                         std::move(info), std::move(function), habits)))
        .value();
  }

  // y = x + 1 on `count` floats.
  Ref<LoadedExecutable> addOne(int64_t count, bool isCheap,
                               DonationKind donation = DonationKind::kNone) {
    ProgramInfo info;
    info.name = "add_one";
    bool isAlias = donation == DonationKind::kMustAlias;
    info.parameters = {parameter(f32({count}), donation, isAlias ? 0 : -1)};
    info.outputs = {output(f32({count}))};
    return load(info, addOneTo(count), isCheap);
  }

  static Function addOneTo(int64_t count) {
    return [count](const RunRequest& run) -> Status {
      const auto* x = static_cast<const float*>(run.parameters[0]);
      auto* y = static_cast<float*>(run.results[0]);
      for (int64_t i = 0; i < count; ++i) y[i] = x[i] + 1;
      return {};
    };
  }

  // Backends live as long as the process: buffers in flight may outlive a test.
  static FunctionBackend& newBackend() {
    static auto& all = *new std::vector<std::unique_ptr<FunctionBackend>>;
    return *all.emplace_back(std::make_unique<FunctionBackend>());
  }

  FunctionBackend& backend = newBackend();
  Ref<Client> client;
};

// The contents, or the error of the buffer.
inline StatusOr<std::vector<float>> read(Buffer& buffer) {
  std::vector<float> values(buffer.sizeBytes() / sizeof(float));
  ISTHMUS_ASSIGN_OR_RETURN(Event done, buffer.copyToHost(values.data(), buffer.sizeBytes()));
  ISTHMUS_RETURN_IF_ERROR(done.await());
  return values;
}

// Runs a single-device program with one result.
inline StatusOr<BufferRef> run(LoadedExecutable& executable, std::vector<Buffer*> arguments,
                               ExecuteOptions options = {}, Event* complete = nullptr) {
  std::vector<BufferRef> results(executable.numOutputs());
  DeviceLaunch launch{arguments, results, complete};
  ISTHMUS_RETURN_IF_ERROR(executable.execute({&launch, 1}, options));
  return results[0];
}

}  // namespace isthmus::testing
