#include "backends/shared/staging/kernel_program.h"

#include "backends/shared/serialization/cache_key.h"
#include "backends/shared/serialization/image_checks.h"
#include "backends/shared/staging/program_bytes.h"

namespace isthmus {
namespace {

constexpr ProgramKind kKind{"ISTHDEV\x01", "device"};

}  // namespace

std::vector<DeviceKernel> deviceKernels(const KernelProgram& program) {
  std::vector<DeviceKernel> kernels;
  for (const codegen::KernelInfo& kernel : program.kernels) {
    kernels.push_back({kernel.name, kernel.items, kernel.groupThreads, kernel.description});
  }
  return kernels;
}

StatusOr<std::string> serializeKernels(const KernelProgram& program, std::string_view identity) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  return sealProgram(kKind, identity, program, key,
                     [&](ByteWriter& out) { out.write(program.code); });
}

StatusOr<KernelProgram> deserializeKernels(std::string_view bytes, std::string_view identity,
                                           const HostFunctionProvider* host) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string key, cacheKey());
  KernelProgram program;
  ISTHMUS_RETURN_IF_ERROR(unsealProgram(kKind, identity, bytes, key, program,
                                        [&](ByteReader& in) { program.code = in.readString(); }));
  if (!program.kernels.empty() && program.code.empty())
    return contradiction("kernels without code");
  ISTHMUS_RETURN_IF_ERROR(checkProgram(program, program.host, 0, host));
  return program;
}

}  // namespace isthmus
