// LLVM's answers to want of memory, and to what it cannot go on from.
#pragma once

namespace isthmus {

// Makes them exceptions, where LLVM would end the process: std::bad_alloc and std::runtime_error.
// LLVM's frames have unwinding tables, though no clean-up: what they held is lost, the process is
// not. Whoever calls the compiler catches (runtime/executable/compile.h). Before the first call of
// LLVM, by whoever makes it; later calls do nothing. Safe from any thread.
void installErrorHandlers();

}  // namespace isthmus
