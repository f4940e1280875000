// Makes the CPU the backend of a plugin.
#include "backends/cpu/backend.h"

namespace isthmus {

Backend& linkedBackend() {
  static cpu::CpuBackend& backend = *new cpu::CpuBackend;
  return backend;
}

}  // namespace isthmus
