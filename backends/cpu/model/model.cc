// The C functions of include/isthmus/model.h over a loaded executable.
#include "isthmus/model.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/load/serialization.h"
#include "isthmus/float_mode.h"
#include "isthmus/run_services.h"
#include "runtime/collectives/in_process.h"
#include "runtime/memory/host_allocator.h"
#include "runtime/threads/thread_pool.h"

struct isthmus_model {
  std::shared_ptr<const isthmus::Executable> executable;
};

namespace isthmus::cpu {
namespace {

// What the program sees of the runtime. Its collectives have one participant.
class ModelServices final : public RunServices {
 public:
  int numThreads() const override { return computeThreads(); }
  void parallelFor(int64_t tiles, int64_t grain, TileFunction function, void* context) override {
    isthmus::parallelFor(tiles, grain, function, context);
  }
  void* allocateScratch(size_t bytes) override { return hostAllocate(bytes); }
  void freeScratch(void* data, size_t bytes) override { hostDeallocate(data, bytes); }
  Collectives& collectives() override {
    static InProcessCollectives& alone = *new InProcessCollectives;
    return alone;
  }
};

// Memory that stands in for the caller's, where the program could not use that.
class Copy {
 public:
  explicit Copy(size_t bytes) : data_(hostAllocate(bytes)), bytes_(bytes) {
    if (data_ == nullptr) throw std::bad_alloc();
  }
  Copy(Copy&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  Copy& operator=(Copy&&) = delete;
  ~Copy() {
    if (data_ != nullptr) hostDeallocate(data_, bytes_);
  }
  void* data() const { return data_; }

 private:
  void* data_;
  size_t bytes_;
};

bool isAligned(const void* data) {
  return reinterpret_cast<uintptr_t>(data) % kBufferAlignment == 0;
}

Status load(std::string_view image, isthmus_model** model) {
  ISTHMUS_ASSIGN_OR_RETURN(ProgramImage program, deserializeImage(image));
  const CompileOptions& options = program.info.options;
  if (options.numReplicas * options.numPartitions != 1) {
    return unimplemented("a model runs on one device, this program on ", options.numReplicas, " x ",
                         options.numPartitions);
  }
  program.info.deviceAssignment = {.deviceIds = {0}};
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> executable,
                           CpuExecutable::load(std::move(program)));
  *model = new isthmus_model{std::move(executable)};
  return {};
}

Status run(const isthmus_model& model, const void* const* arguments, void* const* results) {
  const ProgramInfo& info = model.executable->info();
  std::vector<Copy> copies;
  std::vector<void*> outputs(results, results + info.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == nullptr || !isAligned(outputs[i])) {
      outputs[i] = copies.emplace_back(info.outputs[i].type.sizeBytes()).data();
    }
  }
  std::vector<const void*> parameters(arguments, arguments + info.parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ParameterSpec& spec = info.parameters[i];
    if (parameters[i] == nullptr) return invalidArgument("argument ", i, " is null");
    if (spec.donation == DonationKind::kNone) continue;
    // The program writes to what it is given; the caller keeps its arguments.
    const size_t bytes = spec.type.sizeBytes();
    void* own = spec.donation == DonationKind::kMustAlias ? outputs[spec.aliasedOutput]
                                                          : copies.emplace_back(bytes).data();
    std::memcpy(own, parameters[i], bytes);
    parameters[i] = own;
  }
  ModelServices services;
  static std::atomic<int64_t> launches{0};
  RunRequest request;
  request.launchId = launches.fetch_add(1, std::memory_order_relaxed);
  request.parameters = parameters;
  request.results = outputs;
  request.assignment = &info.deviceAssignment;
  request.services = &services;
  ScopedFloatMode mode(FloatMode::kProgram);
  ISTHMUS_RETURN_IF_ERROR(model.executable->run(request));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (results[i] != nullptr && outputs[i] != results[i]) {
      std::memcpy(results[i], outputs[i], info.outputs[i].type.sizeBytes());
    }
  }
  return {};
}

// Calls `body` and keeps what it says for the caller.
template <typename Body>
const char* report(Body&& body) noexcept {
  thread_local std::string message;
  try {
    Status status = body();
    if (status.ok()) return nullptr;
    message = status.message();
    return message.c_str();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    message = error.what();
    return message.c_str();
  }
}

template <typename Spec>
isthmus_model_array describe(const std::vector<Spec>& specs, size_t index) {
  if (index >= specs.size()) return {};
  const ArrayType& type = specs[index].type;
  return {.type = static_cast<int32_t>(type.elementType),
          .bytes = type.sizeBytes(),
          .rank = type.dims.size(),
          .dims = type.dims.data()};
}

std::string_view bytesOf(const void* image, size_t bytes) {
  return {static_cast<const char*>(image), bytes};
}

}  // namespace
}  // namespace isthmus::cpu

#define ISTHMUS_EXPORT __attribute__((visibility("default")))

extern "C" {

ISTHMUS_EXPORT const char* isthmus_model_load(const void* image, size_t bytes,
                                              isthmus_model** model) {
  return isthmus::cpu::report(
      [&] { return isthmus::cpu::load(isthmus::cpu::bytesOf(image, bytes), model); });
}

ISTHMUS_EXPORT void isthmus_model_free(isthmus_model* model) { delete model; }

ISTHMUS_EXPORT size_t isthmus_model_num_arguments(const isthmus_model* model) {
  return model->executable->info().parameters.size();
}

ISTHMUS_EXPORT size_t isthmus_model_num_results(const isthmus_model* model) {
  return model->executable->info().outputs.size();
}

ISTHMUS_EXPORT isthmus_model_array isthmus_model_argument(const isthmus_model* model,
                                                          size_t index) {
  return isthmus::cpu::describe(model->executable->info().parameters, index);
}

ISTHMUS_EXPORT isthmus_model_array isthmus_model_result(const isthmus_model* model, size_t index) {
  return isthmus::cpu::describe(model->executable->info().outputs, index);
}

ISTHMUS_EXPORT const char* isthmus_model_run(const isthmus_model* model,
                                             const void* const* arguments, void* const* results) {
  return isthmus::cpu::report([&] { return isthmus::cpu::run(*model, arguments, results); });
}

ISTHMUS_EXPORT const char* isthmus_model_run_image(isthmus_model** model, const void* image,
                                                   size_t bytes, const void* const* arguments,
                                                   void* const* results) {
  return isthmus::cpu::report([&]() -> isthmus::Status {
    std::atomic_ref<isthmus_model*> slot(*model);
    isthmus_model* loaded = slot.load(std::memory_order_acquire);
    if (loaded == nullptr) {
      static std::mutex mutex;
      std::lock_guard lock(mutex);
      loaded = slot.load(std::memory_order_acquire);
      if (loaded == nullptr) {
        ISTHMUS_RETURN_IF_ERROR(isthmus::cpu::load(isthmus::cpu::bytesOf(image, bytes), &loaded));
        slot.store(loaded, std::memory_order_release);
      }
    }
    return isthmus::cpu::run(*loaded, arguments, results);
  });
}

}  // extern "C"
