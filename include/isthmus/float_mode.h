// The processor's floating-point mode, which belongs to each thread and which host programs change:
// rounding, what becomes of subnormal numbers, and which exceptions trap.
#pragma once

#include <cstdint>

namespace isthmus {

// The two modes that code of ours runs in.
enum class FloatMode : uint8_t {
  // Nearest, subnormal numbers are numbers, nothing traps: what the C library and everybody's code
  // expects. Compilation and user code run so.
  kIeee,
  // Nearest, f32 and f64 subnormals are zero both as operands and as results, nothing traps: what
  // programs run in, as on XLA's CPU client.
  kProgram,
};

// Sets the mode of the calling thread for good; for threads of ours when they begin.
inline void setFloatMode(FloatMode mode);

// Sets the mode of the calling thread, and at its end the one that was, exception flags included.
class ScopedFloatMode {
 public:
  inline explicit ScopedFloatMode(FloatMode mode);
  inline ~ScopedFloatMode();
  ScopedFloatMode(const ScopedFloatMode&) = delete;
  ScopedFloatMode& operator=(const ScopedFloatMode&) = delete;

 private:
  uint32_t vector_;
  uint16_t scalar_;
};

// ---- Implementation: two registers of x86-64, one of vectors and one of long double ------------

namespace internal {

// Bit 15: flush results; 13-14: rounding; 7-12: masks of traps; 6: subnormal operands are zero.
inline constexpr uint32_t kVectorIeee = 0x1f80;
inline constexpr uint32_t kVectorProgram = 0x1f80 | 0x8040;
// Bits 10-11: rounding; 8-9: 64 bits; 0-5: masks of traps.
inline constexpr uint16_t kScalarIeee = 0x037f;

inline uint32_t vectorModeOf(FloatMode mode) {
  return mode == FloatMode::kIeee ? kVectorIeee : kVectorProgram;
}
inline uint32_t vectorMode() { return __builtin_ia32_stmxcsr(); }
inline void setVectorMode(uint32_t mode) { __builtin_ia32_ldmxcsr(mode); }
inline uint16_t scalarMode() {
  uint16_t mode;
  asm volatile("fnstcw %0" : "=m"(mode));
  return mode;
}
inline void setScalarMode(uint16_t mode) { asm volatile("fldcw %0" : : "m"(mode)); }

}  // namespace internal

// Both registers at once.
inline void setFloatMode(FloatMode mode) {
  internal::setVectorMode(internal::vectorModeOf(mode));
  internal::setScalarMode(internal::kScalarIeee);
}

inline ScopedFloatMode::ScopedFloatMode(FloatMode mode)
    : vector_(internal::vectorMode()), scalar_(internal::scalarMode()) {
  internal::setVectorMode(internal::vectorModeOf(mode));
  if (scalar_ != internal::kScalarIeee) internal::setScalarMode(internal::kScalarIeee);
}

inline ScopedFloatMode::~ScopedFloatMode() {
  if (scalar_ != internal::kScalarIeee) internal::setScalarMode(scalar_);
  internal::setVectorMode(vector_);
}

}  // namespace isthmus
