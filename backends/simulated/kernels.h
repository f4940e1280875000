// The compile side of simulated devices that run kernels: the host's machine code, by LLVM.
//
// A vendor's compile side in full, by include/isthmus and LLVM alone: elements, vectors or groups,
// operations of the host, collectives among the devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "backends/simulated/backend.h"
#include "backends/simulated/collectives.h"
#include "isthmus/device_compiler.h"

namespace isthmus::simulated {

// What the device's threads are.
enum class KernelForm {
  kElements,  // an element each
  kVectors,   // few, with registers of 128 bits
  kGroups,    // an element each, in groups of up to 256
};

class KernelBackend;

class SimulatedCompiler final : public DeviceCompiler {
 public:
  // `backend` has the devices. `host` may be null. There is no kernel of the operation `refused`.
  SimulatedCompiler(const KernelBackend& backend, KernelForm form, const HostFunctionProvider* host,
                    std::string refused)
      : backend_(backend), form_(form), host_(host), refused_(std::move(refused)) {}

  std::string identity() const override;
  DeviceTarget target() const override;
  bool supports(std::string_view op) const override { return op != refused_; }
  const HostFunctionProvider* hostFunctions() const override { return host_; }
  DeviceCollectives* collectives() const override;
  StatusOr<std::string> emit(std::string_view llvmIr,
                             std::span<const DeviceKernel> kernels) const override;
  StatusOr<std::unique_ptr<DeviceKernels>> load(
      std::string_view code, std::span<const DeviceKernel> kernels) const override;

 private:
  const KernelBackend& backend_;
  const KernelForm form_;
  const HostFunctionProvider* const host_;
  const std::string refused_;
};

// Simulated devices whose programs are kernels.
class KernelBackend final : public SimulatedBackend {
 public:
  // As SimulatedBackend; `host` only describes the devices. Without `functions`, programs with
  // operations that have no kernel are refused; with the operation `refused`, in any case.
  KernelBackend(Backend& host, KernelForm form, const HostFunctionProvider* functions,
                DeviceOptions options = {}, Interface interface = Interface::kAsynchronous,
                std::string refused = "")
      : SimulatedBackend(host, options, interface),
        collectives_(*this),
        compiler_(*this, form, functions, std::move(refused)) {}

  StatusOr<std::shared_ptr<const Executable>> compile(const CompileRequest& request) override {
    return compileForDevice(*this, compiler_, request);
  }
  Support supports(std::string_view op) const override { return supportForDevice(compiler_, op); }
  StatusOr<std::string> optimizedProgram(const ProgramInfo& info) override {
    return optimizedProgramText(info);
  }
  StatusOr<std::shared_ptr<const Executable>> deserialize(std::string_view bytes) override {
    return loadForDevice(*this, compiler_, bytes);
  }

  SimulatedCollectives& collectives() const { return collectives_; }
  // How many kernels of groups have been launched, for tests.
  int64_t groupLaunches() const { return groupLaunches_.load(std::memory_order_relaxed); }
  void noteGroupLaunch() const { groupLaunches_.fetch_add(1, std::memory_order_relaxed); }

 private:
  mutable std::atomic<int64_t> groupLaunches_{0};
  mutable SimulatedCollectives collectives_;
  const SimulatedCompiler compiler_;
};

}  // namespace isthmus::simulated
