// What the kernel emitter knows of the CPU it writes code for.
#pragma once

#include <string>

namespace isthmus {

// Plain data; `hostTarget()` in backends/cpu/jit.h describes the CPU of this process.
struct KernelTarget {
  std::string triple;    // "x86_64-pc-linux-gnu"
  std::string cpu;       // LLVM's name: "znver3"
  std::string features;  // LLVM's "+avx2,+fma,…"
  unsigned vectorBits = 128;
  bool fma = false;
  bool f16c = false;  // conversions between f16 and f32
  bool avx2 = false;
  bool avx512 = false;  // F, BW, DQ and VL together
  bool avx512bf16 = false;
  bool fastGather = false;
  // Bytes, for blocking.
  unsigned l1Bytes = 32 * 1024;
  unsigned l2Bytes = 512 * 1024;
};

}  // namespace isthmus
