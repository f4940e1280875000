// Which instruction set the hot kernels run on, and the cache beside it.
//
// Files named *_isa.cc are compiled once for each level, with ISTHMUS_ISA set to v2, v3 or v4, into
// a namespace of that name. They must not emit inline functions that the linker could merge with
// those of other files: templates there live in unnamed namespaces and std templates are avoided.
// With the CMake option ISTHMUS_EMULATE_V4, tests of v4 run on machines with AVX2.
#pragma once

#include <cstdint>

namespace isthmus::cpu {

// The x86-64 micro-architecture levels: SSE4.2; AVX2 and FMA; AVX-512 F, BW, CD, DQ, VL. Above them
// what is for products of narrow elements: AVX-512 VNNI; AVX-512 BF16 too; AMX for both types,
// which the system lets this process use.
enum class Isa { kV2 = 0, kV3 = 1, kV4 = 2, kVnni = 3, kBf16 = 4, kAmx = 5 };
inline constexpr Isa kBestIsa = Isa::kAmx;

// The best level of this machine, not above ISTHMUS_MAX_ISA and the cap. Thread-safe.
Isa hostIsa();

// Of the three versions of a function, that for hostIsa().
template <typename Function>
Function* forHost(Function* v2, Function* v3, Function* v4) {
  const Isa isa = hostIsa();
  return isa >= Isa::kV4 ? v4 : isa == Isa::kV3 ? v3 : v2;
}

// Lowers the level that hostIsa reports, for tests and for comparing. Not to be called while
// kernels run.
void capIsa(Isa cap);

// Whether AVX-512 BF16, where hostIsa() has it, multiplies faster than operands converted to f32.
// Thread-safe.
bool hasFastBf16Products();

// A number for the kernels that this machine has, not 0: machines of one number have the same.
// Thread-safe.
int32_t hostKernels();
// "v3", as ISTHMUS_MAX_ISA says the instruction set of such a number.
const char* isaOfKernels(int32_t kernels);

// Bytes of a core's second-level cache; 0 where the system does not know. Thread-safe.
int64_t secondLevelCacheBytes();
// The same, and a size that is common where the system does not know.
int64_t nearCacheBytes();

}  // namespace isthmus::cpu
