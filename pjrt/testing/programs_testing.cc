// The programs, and the backend that has them.
#include "pjrt/testing/programs_testing.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/simulated/function_backend.h"

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

}  // namespace

Backend& programsBackend() {
  static auto& backend = *new simulated::FunctionBackend("cpu");
  static std::once_flag once;
  std::call_once(once, [] {
    for (const Program& program : programs()) {
      ProgramInfo info;
      info.name = program.word;
      info.parameters = program.parameters;
      info.outputs = program.outputs;
      info.fingerprint = "test:" + info.name;
      info.costs = {{"flops", 4.0}, {"bytes accessed", 48.0}};
      info.memory = {.generatedCodeBytes = 100,
                     .argumentBytes = 32,
                     .outputBytes = 16,
                     .aliasBytes = 0,
                     .tempBytes = 8};
      backend.add(std::move(info), program.run, {.isCheap = program.isCheap});
    }
  });
  return backend;
}

void releaseWaiters() {
  waitersReleased = true;
  waitersReleased.notify_all();
}

void holdWaiters() { waitersReleased = false; }

}  // namespace isthmus::testing
