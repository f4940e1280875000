// A backend whose programs are functions of a test: what a simulated device runs where no compiler
// is wanted, or, by itself, the plainest synchronous backend.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/backend.h"

namespace isthmus::simulated {

using Function = std::function<Status(const RunRequest&)>;

// How a program says that it runs: Executable's functions of these names.
struct Habits {
  bool isCheap = false;
  bool callsUserCode = false;
  bool mayBlock = true;
  bool waitersCompute = false;
};

class FunctionExecutable final : public Executable {
 public:
  FunctionExecutable(ProgramInfo info, Function function, Habits habits = {})
      : info_(std::move(info)), function_(std::move(function)), habits_(habits) {}

  const ProgramInfo& info() const override { return info_; }
  Status run(const RunRequest& request) const override { return function_(request); }
  bool isCheap() const override { return habits_.isCheap; }
  bool callsUserCode() const override { return habits_.callsUserCode; }
  bool mayBlock() const override { return habits_.mayBlock; }
  bool waitersCompute() const override { return habits_.waitersCompute; }
  // The text that it was compiled from.
  StatusOr<std::string> serialize() const override { return info_.code; }

 private:
  ProgramInfo info_;
  Function function_;
  Habits habits_;
};

// Its memory is the host's, of the three kinds that a CPU has. Option num_devices: 1 to 64; else
// ISTHMUS_NUM_DEVICES, else 1.
class FunctionBackend final : public Backend {
 public:
  explicit FunctionBackend(std::string platform = "functions") : platform_(std::move(platform)) {}

  // `compile` finds the program in texts that contain its name; the first one added counts.
  void add(ProgramInfo info, Function function, Habits habits = {});

  std::string platformName() const override { return platform_; }
  std::string platformVersion() const override { return "functions 1.0"; }
  StatusOr<std::vector<DeviceDescription>> describeDevices(const AttributeMap& options) override;
  // kResourceExhausted above 1 TiB, which no test's host has.
  StatusOr<void*> allocate(int deviceId, std::string_view memoryKind, size_t bytes) override;
  void deallocate(int deviceId, std::string_view memoryKind, void* data, size_t bytes) override;
  // kInvalidArgument for a text without a known name.
  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override;
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override { return info.code; }
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override;

 private:
  struct Program {
    ProgramInfo info;
    Function function;
    Habits habits;
  };

  const std::string platform_;
  std::mutex mutex_;
  std::vector<Program> programs_;  // guarded by the mutex
};

}  // namespace isthmus::simulated
