// From the element type in a descriptor to the type in C++ that a function of dense linear algebra
// is instantiated for.
#pragma once

#include <string_view>

#include "backends/cpu/abi.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

// Calls `compute` with a number of the type that stands for `type`: one of the four. It returns
// false for want of scratch memory. The result is that of a library function, which fails with
// kUnimplemented for all other types, and with kResourceExhausted.
template <typename F32, typename F64, typename C64, typename C128, typename Compute>
int32_t runForType(IsthmusRun* run, std::string_view function, ElementType type,
                   const Compute& compute) {
  bool done = false;
  switch (type) {
    case ElementType::kF32:
      done = compute(F32());
      break;
    case ElementType::kF64:
      done = compute(F64());
      break;
    case ElementType::kC64:
      done = compute(C64());
      break;
    case ElementType::kC128:
      done = compute(C128());
      break;
    default:
      return fail(run, unimplemented(function, ": element type ", static_cast<int>(type),
                                     ", expected f32, f64, complex<f32> or complex<f64>"));
  }
  return done ? 0 : fail(run, resourceExhausted(function, ": no scratch memory"));
}

}  // namespace isthmus::cpu
