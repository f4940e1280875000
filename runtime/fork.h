// Tells children made by fork() that the threads of their parent are gone.
#pragma once

#include <cstdint>

namespace isthmus {

// 0 in the first process, one more in each generation of children. The first call in a process
// installs the handler, so whoever starts a thread calls it first and compares later.
uint32_t forkGeneration();

}  // namespace isthmus
