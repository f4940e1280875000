// A guard against exceptions around the functions that generated code calls.
#pragma once

#include "backends/cpu/abi.h"

namespace isthmus::cpu {

// The exception that is being handled, as an error of the run. Needs no memory where that is what
// was wanting.
int32_t failByException(IsthmusRun* run) noexcept;

// `function` as generated code may call it: its frames have no unwinding tables, so what is thrown
// becomes an error of the run.
template <IsthmusLibraryFunction function>
int32_t guarded(IsthmusRun* run, const void* descriptor, void* const* buffers) noexcept {
  try {
    return function(run, descriptor, buffers);
  } catch (...) {
    return failByException(run);
  }
}

}  // namespace isthmus::cpu
