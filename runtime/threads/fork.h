// Tells children made by fork() that the threads of their parent are gone.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus {

// 0 in the first process, one more in each generation of children. The first call in a process
// installs the handler, so whoever starts a thread calls it first and compares later.
uint32_t forkGeneration();

// The one T of this process, made by the first call from any thread. Never destroyed: its threads
// may be busy when the process exits. A child made by fork() has none of its parent's threads; it
// leaves their T behind and gets one of its own.
template <typename T>
T& perProcess() {
  struct Entry {
    const uint32_t generation = forkGeneration();
    T value;
  };
  static std::atomic<Entry*> current{nullptr};
  Entry* entry = current.load(std::memory_order_acquire);
  while (entry == nullptr || entry->generation != forkGeneration()) {
    auto* fresh = new Entry;
    if (current.compare_exchange_strong(entry, fresh, std::memory_order_acq_rel)) {
      return fresh->value;
    }
    delete fresh;
  }
  return entry->value;
}

}  // namespace isthmus
