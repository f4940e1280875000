// Makes simulated devices, which run what the CPU backend compiles, the backend of a plugin.
#include "backends/cpu/backend.h"
#include "backends/simulated/backend.h"

namespace isthmus {

Backend& linkedBackend() {
  static simulated::SimulatedBackend& backend =
      *new simulated::SimulatedBackend(*new cpu::CpuBackend);
  return backend;
}

}  // namespace isthmus
