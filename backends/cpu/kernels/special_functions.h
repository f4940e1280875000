// Functions of chlo that legalization leaves, one element at a time: those of complex numbers, and
// what is not computed by code. They reach us from text only: JAX's client sends composites, whose
// decompositions become vector code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "backends/cpu/abi.h"
#include "isthmus/types.h"

namespace isthmus::cpu {

enum class SpecialFunction : int32_t {
  kAcos,
  kAcosh,
  kAsin,
  kAsinAcosKernel,
  kAsinh,
  kAtan,
  kAtanh,
  kCosh,
  kErf,
  kErfc,
  kNextAfter,
  kSinh,
};

// By the name of the operation, without its dialect.
std::optional<SpecialFunction> specialFunctionOf(std::string_view name);

// buffers: one operand or two, and the result, all of one type and size. Complex ones for the
// inverse and hyperbolic functions only, floats for the others, computed in f64 and rounded to the
// type.
struct SpecialDescriptor {
  SpecialFunction function;
  ElementType type;
  int64_t elements;
};

// Whether the function is there for a type.
bool hasSpecialFunction(SpecialFunction function, ElementType type);

extern "C" int32_t isthmus_rt_special(IsthmusRun* run, const void* descriptor,
                                      void* const* buffers);

}  // namespace isthmus::cpu
