// Devices of the host, and programs found by name.
#include "backends/simulated/function_backend.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "isthmus/flags.h"

namespace isthmus::simulated {

void FunctionBackend::add(ProgramInfo info, Function function, Habits habits) {
  std::lock_guard lock(mutex_);
  programs_.push_back({std::move(info), std::move(function), habits});
}

StatusOr<std::vector<DeviceDescription>> FunctionBackend::describeDevices(
    const AttributeMap& options) {
  int64_t count = std::max<int64_t>(flagInt("ISTHMUS_NUM_DEVICES"), 1);
  for (const auto& [name, value] : options) {
    const auto* number = std::get_if<int64_t>(&value);
    if (name != "num_devices") return invalidArgument("unknown client option ", name);
    if (number == nullptr || *number < 1 || *number > 64) {
      return invalidArgument("client option num_devices must be an integer from 1 to 64");
    }
    count = *number;
  }
  std::vector<DeviceDescription> devices;
  for (int id = 0; id < count; ++id) {
    devices.push_back({.id = id,
                       .processIndex = 0,
                       .localHardwareId = id,
                       .kind = platform_,
                       .debugString = "FunctionDevice(id=" + std::to_string(id) + ")",
                       .attributes = {{"coords", std::vector<int64_t>{id, 0, 0}}},
                       .memories = {{"device", true}, {"pinned_host"}, {"unpinned_host"}}});
  }
  return devices;
}

StatusOr<void*> FunctionBackend::allocate(int, std::string_view, size_t bytes) {
  if (bytes > (size_t{1} << 40)) return resourceExhausted("no memory for ", bytes, " bytes");
  size_t rounded = (bytes / kBufferAlignment + 1) * kBufferAlignment;
  void* data = std::aligned_alloc(kBufferAlignment, rounded);
  if (data == nullptr) return resourceExhausted("no memory for ", bytes, " bytes");
  return data;
}

void FunctionBackend::deallocate(int, std::string_view, void* data, size_t) { std::free(data); }

StatusOr<std::shared_ptr<const Executable>> FunctionBackend::compile(
    const CompileRequest& request) {
  std::lock_guard lock(mutex_);
  for (const Program& program : programs_) {
    if (request.code.find(program.info.name) == std::string_view::npos) continue;
    ProgramInfo info = program.info;
    info.options = request.options;
    info.code = std::string(request.code);
    return std::shared_ptr<const Executable>(
        std::make_shared<FunctionExecutable>(std::move(info), program.function, program.habits));
  }
  return invalidArgument("no function for the program ", request.code.substr(0, 100));
}

StatusOr<std::shared_ptr<const Executable>> FunctionBackend::deserialize(std::string_view bytes) {
  CompileRequest request;
  request.code = bytes;
  request.format = "mlir";
  return compile(request);
}

}  // namespace isthmus::simulated
