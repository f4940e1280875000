#include "runtime/memory/program_limits.h"

namespace isthmus {

Status ProgramLimits::check(const ProgramMemory& memory, size_t bytes) const {
  for (const Device* device : client_.addressableDevices()) {
    for (const Memory* one : device->memories()) {
      if (one->programs() == &memory) return one->checkForPrograms(bytes);
    }
  }
  return {};
}

}  // namespace isthmus
