// Detects the instruction set level of the machine once.
#include "backends/cpu/kernels/isa.h"

#include <algorithm>
#include <atomic>

namespace isthmus::cpu {
namespace {

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return Isa::kV4;
#if defined(ISTHMUS_EMULATE_V4)
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::kV4;
#endif
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::kV3;
#endif
  return Isa::kV2;
}

std::atomic<Isa> isaCap{Isa::kV4};

}  // namespace

Isa hostIsa() {
  static const Isa detected = detect();
  return std::min(detected, isaCap.load(std::memory_order_relaxed));
}

void capIsa(Isa cap) { isaCap.store(cap, std::memory_order_relaxed); }

}  // namespace isthmus::cpu
