// The fork handler behind forkGeneration.
#include "runtime/threads/fork.h"

#include <pthread.h>

#include <atomic>

namespace isthmus {
namespace {

std::atomic<uint32_t> generation{0};

void countChild() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

uint32_t forkGeneration() {
  [[maybe_unused]] static const int installed = pthread_atfork(nullptr, nullptr, countChild);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace isthmus
