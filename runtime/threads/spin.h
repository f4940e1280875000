// A short busy wait, for what is likely to come within the time that sleeping costs.
#pragma once

namespace isthmus {

inline void pauseCpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Polls `condition` for a few microseconds: about what waking a sleeping thread takes.
template <typename Condition>
bool spinUntil(Condition&& condition, int rounds = 200) {
  for (int i = 0; i < rounds; ++i) {
    if (condition()) return true;
    pauseCpu();
  }
  return condition();
}

}  // namespace isthmus
