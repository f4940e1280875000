// A compiled program of a device whose host enqueues steps and carries some out: what is the same
// whatever the device's code is.
#pragma once

#include "backends/shared/staging/host_functions.h"
#include "compiler/driver/device_program.h"

namespace isthmus {

// Plain data; a backend adds the code of its kernels.
struct StagedProgram : DeviceProgram {
  HostProgram host;
};

}  // namespace isthmus
