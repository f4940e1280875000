// Makes simulated devices with kernels of groups, whose collectives are their own and whose host
// does the rest, the backend of a plugin.
#include "backends/simulated/function_backend.h"
#include "backends/simulated/kernels.h"

namespace isthmus {

Backend& linkedBackend() {
  static simulated::KernelBackend& backend =
      *new simulated::KernelBackend(*new simulated::FunctionBackend("simulated_kernels"),
                                    simulated::KernelForm::kGroups, &linkedHostFunctions());
  return backend;
}

}  // namespace isthmus
