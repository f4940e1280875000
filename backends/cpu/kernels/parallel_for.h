// Loops whose parts the threads of a run share.
#pragma once

#include <cstdint>
#include <type_traits>

#include "isthmus/run_services.h"

namespace isthmus::cpu {

// RunServices::parallelFor with anything that can be called as function(begin, end), from several
// threads at once.
template <typename Function>
void parallelFor(RunServices& services, int64_t tiles, int64_t grain, Function&& function) {
  using Callee = std::remove_reference_t<Function>;
  services.parallelFor(
      tiles, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<Callee*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&function)));
}

}  // namespace isthmus::cpu
