// A compiled program of a DeviceCompiler's device, as plain data and as bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/shared/staging/staged_program.h"
#include "isthmus/device_compiler.h"
#include "isthmus/status.h"

namespace isthmus {

struct KernelProgram : StagedProgram {
  std::string code;  // DeviceCompiler::emit's
};

// What the vendor is told of the program's kernels.
std::vector<DeviceKernel> deviceKernels(const KernelProgram& program);

// `identity`: DeviceCompiler's.
StatusOr<std::string> serializeKernels(const KernelProgram& program, std::string_view identity);
// kFailedPrecondition for bytes of another device or build, or that need a host that is not there,
// kInvalidArgument for malformed ones.
StatusOr<KernelProgram> deserializeKernels(std::string_view bytes, std::string_view identity,
                                           const HostFunctionProvider* host);

}  // namespace isthmus
