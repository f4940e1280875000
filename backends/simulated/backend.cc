// Devices on demand, and programs whose addresses are translated before they run.
#include "backends/simulated/backend.h"

#include <utility>

#include "isthmus/float_mode.h"

namespace isthmus::simulated {
namespace {

// Addresses as the device sees them.
StatusOr<std::vector<char*>> twins(const AddressSpace& memory, std::span<const void* const> data,
                                   size_t count, auto bytesOf) {
  std::vector<char*> found;
  for (size_t i = 0; i < count; ++i) {
    ISTHMUS_ASSIGN_OR_RETURN(char* twin, memory.twin(data[i], bytesOf(i)));
    found.push_back(twin);
  }
  return found;
}

// The end of what has been handed over.
Status awaited(StatusOr<DeviceEventRef> event) {
  ISTHMUS_RETURN_IF_ERROR(event.status());
  return *event ? (*event)->await() : Status();
}

class SimulatedExecutable final : public Executable {
 public:
  SimulatedExecutable(const SimulatedBackend& backend, std::shared_ptr<const Executable> program)
      : backend_(backend), program_(std::move(program)) {}

  const ProgramInfo& info() const override { return program_->info(); }
  // Handing over is; a run is what the program's is.
  bool isCheap() const override {
    return backend_.isAsynchronous() ? !callsUserCode() : program_->isCheap();
  }
  bool callsUserCode() const override { return program_->callsUserCode(); }
  bool mayBlock() const override { return !backend_.isAsynchronous() || program_->mayBlock(); }
  bool waitersCompute() const override { return program_->waitersCompute(); }
  StatusOr<std::string> serialize() const override { return program_->serialize(); }

  Status run(const RunRequest& request) const override { return awaited(enqueue(request, {})); }
  StatusOr<DeviceEventRef> enqueue(const RunRequest& request, DeviceEvents after) const override {
    Device& device = backend_.device(request.deviceId);
    ISTHMUS_ASSIGN_OR_RETURN(
        std::vector<char*> parameters,
        twins(device.memory(), request.parameters, info().parameters.size(),
              [&](size_t i) { return info().parameters[i].type.sizeBytes(); }));
    ISTHMUS_ASSIGN_OR_RETURN(
        std::vector<char*> results,
        twins(device.memory(), {request.results.data(), request.results.size()},
              info().outputs.size(), [&](size_t i) { return info().outputs[i].type.sizeBytes(); }));
    // The runtime keeps what the request refers to, but for the lists made here.
    auto work = [program = program_, launched = request, parameters = std::move(parameters),
                 results = std::move(results)]() mutable {
      std::vector<const void*> inputs(parameters.begin(), parameters.end());
      std::vector<void*> outputs(results.begin(), results.end());
      launched.parameters = inputs;
      launched.results = outputs;
      ScopedFloatMode mode(FloatMode::kProgram);
      return program->run(launched);
    };
    if (callsUserCode()) {
      // It may launch and await other programs of this device, which thus must not be held up.
      for (const DeviceEventRef& event : after) ISTHMUS_RETURN_IF_ERROR(event->await());
      ISTHMUS_RETURN_IF_ERROR(work());
      return DeviceEventRef();
    }
    const DeviceAssignment* assignment = request.assignment;
    bool meetsOthers =
        !info().exchanges.empty() || (assignment != nullptr && assignment->deviceIds.size() > 1);
    return device.launch(info().name, meetsOthers, std::move(work), after);
  }

 private:
  const SimulatedBackend& backend_;
  std::shared_ptr<const Executable> program_;
};

// Takes an option out of `options`.
Status takeInteger(AttributeMap& options, const std::string& name, auto& value) {
  auto found = options.find(name);
  if (found == options.end()) return {};
  const auto* number = std::get_if<int64_t>(&found->second);
  if (number == nullptr || *number < 0) {
    return invalidArgument("client option ", name, " must be an integer, not negative");
  }
  value = std::decay_t<decltype(value)>(*number);
  options.erase(found);
  return {};
}

}  // namespace

SimulatedBackend::SimulatedBackend(Backend& host, DeviceOptions options, Interface interface)
    : host_(host), options_(options), interface_(interface) {}

StatusOr<std::vector<DeviceDescription>> SimulatedBackend::describeDevices(
    const AttributeMap& options) {
  AttributeMap rest = options;
  std::lock_guard lock(mutex_);
  DeviceOptions wanted = options_;
  ISTHMUS_RETURN_IF_ERROR(takeInteger(rest, "memory_bytes", wanted.memoryBytes));
  ISTHMUS_RETURN_IF_ERROR(takeInteger(rest, "latency_us", wanted.latency));
  ISTHMUS_RETURN_IF_ERROR(takeInteger(rest, "order_seed", wanted.seed));
  ISTHMUS_ASSIGN_OR_RETURN(std::vector<DeviceDescription> described, host_.describeDevices(rest));
  while (devices_.size() < described.size()) {
    ISTHMUS_ASSIGN_OR_RETURN(std::unique_ptr<Device> device, Device::create(wanted, machine_));
    devices_.push_back(std::move(device));
  }
  return described;
}

Device& SimulatedBackend::device(int id) const {
  std::lock_guard lock(mutex_);
  return *devices_[static_cast<size_t>(id)];
}

StatusOr<void*> SimulatedBackend::allocate(int deviceId, std::string_view memoryKind,
                                           size_t bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(DeviceQueue::Block block, device(deviceId).allocate(memoryKind, bytes));
  // How the work of former users ended is not this one's concern.
  if (block.available) static_cast<void>(block.available->await());
  return block.data;
}

void SimulatedBackend::deallocate(int deviceId, std::string_view memoryKind, void* data,
                                  size_t bytes) {
  device(deviceId).release(memoryKind, data, bytes, {});
}

Status SimulatedBackend::copyFromHost(int deviceId, void* to, size_t offset, const void* host,
                                      size_t bytes) {
  return awaited(device(deviceId).copyFromHost(to, offset, host, bytes, {}));
}

Status SimulatedBackend::copyToHost(int deviceId, const void* from, size_t offset, void* host,
                                    size_t bytes) {
  return awaited(device(deviceId).copyToHost(from, offset, host, bytes, {}));
}

Status SimulatedBackend::copyBetween(int toDeviceId, void* to, int fromDeviceId, const void* from,
                                     size_t bytes) {
  return awaited(device(toDeviceId).copyFromDevice(to, fromDeviceId, from, bytes, {}));
}

AttributeMap SimulatedBackend::memoryStats(int deviceId) const {
  const AddressSpace& memory = device(deviceId).memory();
  return {{"bytes_limit", static_cast<int64_t>(memory.bytes())},
          {"bytes_in_use", static_cast<int64_t>(memory.bytesInUse())}};
}

std::shared_ptr<const Executable> SimulatedBackend::wrap(
    std::shared_ptr<const Executable> program) const {
  return std::make_shared<SimulatedExecutable>(*this, std::move(program));
}

StatusOr<std::shared_ptr<const Executable>> SimulatedBackend::compile(
    const CompileRequest& request) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> program, host_.compile(request));
  return wrap(std::move(program));
}

StatusOr<std::shared_ptr<const Executable>> SimulatedBackend::deserialize(std::string_view bytes) {
  ISTHMUS_ASSIGN_OR_RETURN(std::shared_ptr<const Executable> program, host_.deserialize(bytes));
  return wrap(std::move(program));
}

}  // namespace isthmus::simulated
