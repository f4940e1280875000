// The backend for tests.
#include "pjrt/test_backend.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "isthmus/backend.h"

namespace isthmus::testing {
namespace {

std::atomic<bool> waitersReleased{false};

using Run = Status (*)(const RunRequest& request);

struct Program {
  std::string_view word;
  std::vector<ParameterSpec> parameters;
  std::vector<BufferSpec> outputs;
  Run run;
  bool isCheap = false;
};

const float* floats(const void* data) { return static_cast<const float*>(data); }

Status add(const RunRequest& request) {
  auto* out = static_cast<float*>(request.results[0]);
  for (int i = 0; i < 4; ++i) {
    out[i] = floats(request.parameters[0])[i] + floats(request.parameters[1])[i];
  }
  return {};
}

Status copy(const RunRequest& request) {
  std::memcpy(request.results[0], request.parameters[0], 4 * sizeof(float));
  return {};
}

Status negate(const RunRequest& request) {
  for (int i = 0; i < 6; ++i) {
    static_cast<int32_t*>(request.results[0])[i] =
        -static_cast<const int32_t*>(request.parameters[0])[i];
  }
  *static_cast<float*>(request.results[1]) = 1.5f;
  return {};
}

Status fail(const RunRequest&) { return internalError("the program failed"); }

Status wait(const RunRequest& request) {
  waitersReleased.wait(false);
  return copy(request);
}

const std::vector<Program>& programs() {
  ArrayType f32x4{ElementType::kF32, {4}};
  ArrayType s32x2x3{ElementType::kS32, {2, 3}};
  ArrayType f32{ElementType::kF32, {}};
  // A replicated sharding: an empty message has type 0, so one field is written out.
  std::string replicated("\x08\x00", 2);
  auto parameter = [&](ArrayType type, DonationKind donation = DonationKind::kNone, int out = -1) {
    return ParameterSpec{{std::move(type), "device", replicated, {}}, donation, out};
  };
  auto output = [&](ArrayType type, std::string memoryKind = "device") {
    return BufferSpec{std::move(type), std::move(memoryKind), replicated, {}};
  };
  static const auto& table = *new std::vector<Program>{
      {"stablehlo.add", {parameter(f32x4), parameter(f32x4)}, {output(f32x4)}, &add, true},
      {"accumulate",
       {parameter(f32x4, DonationKind::kMustAlias, 0), parameter(f32x4)},
       {output(f32x4)},
       &add,
       true},
      {"may_donate", {parameter(f32x4, DonationKind::kMayDonate)}, {output(f32x4)}, &copy, true},
      {"negate", {parameter(s32x2x3)}, {output(s32x2x3), output(f32)}, &negate},
      {"host", {parameter(f32x4)}, {output(f32x4, "pinned_host")}, &copy},
      {"fail", {parameter(f32x4)}, {output(f32x4)}, &fail},
      {"wait", {parameter(f32x4)}, {output(f32x4)}, &wait},
      {"no_outputs", {parameter(f32x4)}, {}, [](const RunRequest&) { return Status(); }, true},
  };
  return table;
}

class TestExecutable final : public Executable {
 public:
  TestExecutable(const Program& program, std::string_view code, const CompileOptions& options)
      : program_(program) {
    info_.name = std::string(program.word);
    info_.parameters = program.parameters;
    info_.outputs = program.outputs;
    info_.options = options;
    info_.fingerprint = "test:" + info_.name;
    info_.costs = {{"flops", 4.0}, {"bytes accessed", 48.0}};
    info_.memory = {.generatedCodeBytes = 100,
                    .argumentBytes = 32,
                    .outputBytes = 16,
                    .aliasBytes = 0,
                    .tempBytes = 8};
    info_.code = std::string(code);
  }

  const ProgramInfo& info() const override { return info_; }
  Status run(const RunRequest& request) const override { return program_.run(request); }
  bool isCheap() const override { return program_.isCheap; }
  StatusOr<std::string> serialize() const override { return info_.code; }

 private:
  const Program& program_;
  ProgramInfo info_;
};

class TestBackend final : public Backend {
 public:
  std::string platformName() const override { return "cpu"; }
  std::string platformVersion() const override { return "isthmus test backend"; }

  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override {
    int64_t count = 1;
    for (const auto& [name, value] : options) {
      const auto* number = std::get_if<int64_t>(&value);
      if (name != "num_devices" || number == nullptr || *number < 1 || *number > 64) {
        return invalidArgument("option '", name, "' is unknown or has a bad value");
      }
      count = *number;
    }
    std::vector<DeviceDescription> devices;
    for (int i = 0; i < count; ++i) {
      devices.push_back({.id = i,
                         .processIndex = 0,
                         .localHardwareId = i,
                         .kind = "cpu",
                         .debugString = "TestDevice(id=" + std::to_string(i) + ")",
                         .attributes = {{"coords", std::vector<int64_t>{i, 0, 0}}},
                         .memories = {{"device", true}, {"pinned_host"}, {"unpinned_host"}}});
    }
    return devices;
  }

  StatusOr<void*> allocate(int, std::string_view, size_t bytes) override {
    if (bytes > (size_t{1} << 40)) return resourceExhausted("no ", bytes, " bytes for tests");
    void* data =
        std::aligned_alloc(kBufferAlignment, (bytes / kBufferAlignment + 1) * kBufferAlignment);
    if (data == nullptr) return resourceExhausted("no ", bytes, " bytes");
    return data;
  }
  void deallocate(int, std::string_view, void* data, size_t) override { std::free(data); }

  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override {
    for (const Program& program : programs()) {
      if (request.code.find(program.word) != std::string_view::npos) {
        return std::shared_ptr<const Executable>(
            std::make_shared<TestExecutable>(program, request.code, request.options));
      }
    }
    return invalidArgument("the test backend does not know this program");
  }

  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override { return info.code; }

  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override {
    CompileRequest request;
    request.code = bytes;
    request.format = "mlir";
    return compile(request);
  }
};

}  // namespace

void releaseWaiters() {
  waitersReleased = true;
  waitersReleased.notify_all();
}

void holdWaiters() { waitersReleased = false; }

}  // namespace isthmus::testing

isthmus::Backend& isthmus::linkedBackend() {
  static Backend& backend = *new testing::TestBackend;
  return backend;
}
