// Detects the instruction set level of the machine once.
#include "backends/cpu/kernels/isa.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>

#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "isthmus/flags.h"
#include "isthmus/log.h"

namespace isthmus::cpu {
namespace {

#if defined(__x86_64__)
// Tile registers are large: Linux lets a process use them when it asks, once for all its threads.
// It refuses where a thread's alternate signal stack is too small for them.
bool mayUseTiles() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

// Of a machine with level v4.
Isa detectAboveV4() {
  if (!__builtin_cpu_supports("avx512vnni")) return Isa::kV4;
  if (!__builtin_cpu_supports("avx512bf16")) return Isa::kVnni;
  const bool hasTiles = __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
                        __builtin_cpu_supports("amx-bf16");
  return hasTiles && mayUseTiles() ? Isa::kAmx : Isa::kBf16;
}
#endif

Isa detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) return detectAboveV4();
#if defined(ISTHMUS_EMULATE_V4)
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::kV4;
#endif
  if (__builtin_cpu_supports("x86-64-v3")) return Isa::kV3;
#endif
  return Isa::kV2;
}

constexpr const char* kIsaNames[] = {"v2", "v3", "v4", "vnni", "bf16", "amx"};

// What the user allows.
Isa readMaximum() {
  const std::string& name = flagString("ISTHMUS_MAX_ISA");
  if (name.empty()) return kBestIsa;
  const auto* found = std::find(std::begin(kIsaNames), std::end(kIsaNames), name);
  if (found != std::end(kIsaNames)) return static_cast<Isa>(found - std::begin(kIsaNames));
  logLine(LogLevel::kWarning,
          "ISTHMUS_MAX_ISA=" + name + " is ignored: expected v2, v3, v4, vnni, bf16 or amx");
  return kBestIsa;
}

std::atomic<Isa> isaCap{kBestIsa};
// What hostKernels() has found; 0 before.
std::atomic<int32_t> foundKernels{0};

}  // namespace

Isa hostIsa() {
  static const Isa detected = std::min(detect(), readMaximum());
  return std::min(detected, isaCap.load(std::memory_order_relaxed));
}

void capIsa(Isa cap) {
  isaCap.store(cap, std::memory_order_relaxed);
  foundKernels.store(0, std::memory_order_relaxed);
}

bool hasFastBf16Products() {
#if defined(__x86_64__)
  // Intel's processors run VDPBF16PS on one of two ports and in two passes: a product of 1024 takes
  // 1.5 times as long as in f32 (Sapphire Rapids), AMD's half as long (Zen 4, Zen 5).
  static const bool isFast = [] {
    __builtin_cpu_init();
    return !__builtin_cpu_is("intel");
  }();
  return isFast;
#else
  return false;
#endif
}

int32_t hostKernels() {
  // Small products ask each time.
  int32_t kernels = foundKernels.load(std::memory_order_relaxed);
  if (kernels != 0) return kernels;
  const Isa isa = hostIsa();
  kernels =
      2 * (1 + static_cast<int32_t>(isa)) + (isa >= Isa::kBf16 && hasFastBf16Products() ? 1 : 0);
  foundKernels.store(kernels, std::memory_order_relaxed);
  return kernels;
}

const char* isaOfKernels(int32_t kernels) { return kIsaNames[kernels / 2 - 1]; }

int64_t secondLevelCacheBytes() {
  static const int64_t bytes = std::max<int64_t>(0, sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes;
}

int64_t nearCacheBytes() {
  const int64_t bytes = secondLevelCacheBytes();
  return bytes > 0 ? bytes : 1 << 20;
}

}  // namespace isthmus::cpu
