// For tests: a backend whose programs are functions of the test.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "isthmus/backend.h"
#include "runtime/client.h"
#include "runtime/loaded_executable.h"
#include "runtime/memory/host_allocator.h"

namespace isthmus::testing {

using Program = std::function<Status(const RunRequest&)>;

class FakeExecutable final : public Executable {
 public:
  FakeExecutable(ProgramInfo info, Program program, bool isCheap, bool callsUserCode = false,
                 bool mayBlock = true)
      : info_(std::move(info)),
        program_(std::move(program)),
        isCheap_(isCheap),
        callsUserCode_(callsUserCode),
        mayBlock_(mayBlock) {}
  const ProgramInfo& info() const override { return info_; }
  Status run(const RunRequest& request) const override { return program_(request); }
  bool isCheap() const override { return isCheap_; }
  bool callsUserCode() const override { return callsUserCode_; }
  bool mayBlock() const override { return mayBlock_; }

 private:
  ProgramInfo info_;
  Program program_;
  bool isCheap_;
  bool callsUserCode_;
  bool mayBlock_;
};

// Devices as many as the option num_devices says, each with the three memories of a CPU.
class FakeBackend final : public Backend {
 public:
  std::string platformName() const override { return "fake"; }
  std::string platformVersion() const override { return "fake 1.0"; }

  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override {
    int64_t count = 1;
    if (auto option = options.find("num_devices"); option != options.end()) {
      const auto* number = std::get_if<int64_t>(&option->second);
      if (number == nullptr || *number < 1) return invalidArgument("num_devices must be positive");
      count = *number;
    }
    std::vector<DeviceDescription> devices;
    for (int i = 0; i < count; ++i) {
      devices.push_back({i,
                         0,
                         i,
                         "fake",
                         "FakeDevice(id=" + std::to_string(i) + ")",
                         {{"color", std::string("blue")}},
                         {{"device", true}, {"pinned_host"}, {"unpinned_host"}}});
    }
    return devices;
  }

  StatusOr<void*> allocate(int, std::string_view, size_t bytes) override {
    void* data = hostAllocate(bytes);
    if (data == nullptr) return resourceExhausted("no memory for ", bytes, " bytes");
    return data;
  }
  void deallocate(int, std::string_view, void* data, size_t bytes) override {
    hostDeallocate(data, bytes);
  }

  // The code is the name of a program that the test has put in `programs`.
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override {
    for (auto& [name, executable] : programs) {
      if (name == request.code) return executable;
    }
    return invalidArgument("no program ", request.code);
  }

  std::vector<std::pair<std::string, std::shared_ptr<const Executable>>> programs;
};

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

  Ref<LoadedExecutable> load(ProgramInfo info, Program program, bool isCheap = false,
                             bool callsUserCode = false) {
    auto executable = std::make_shared<FakeExecutable>(std::move(info), std::move(program), isCheap,
                                                       callsUserCode);
    return std::move(client->load(executable)).value();
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

  static Program addOneTo(int64_t count) {
    return [count](const RunRequest& run) -> Status {
      const auto* x = static_cast<const float*>(run.parameters[0]);
      auto* y = static_cast<float*>(run.results[0]);
      for (int64_t i = 0; i < count; ++i) y[i] = x[i] + 1;
      return {};
    };
  }

  // Backends live as long as the process: buffers in flight may outlive a test.
  static FakeBackend& newBackend() {
    static auto& all = *new std::vector<std::unique_ptr<FakeBackend>>;
    return *all.emplace_back(std::make_unique<FakeBackend>());
  }

  FakeBackend& backend = newBackend();
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
