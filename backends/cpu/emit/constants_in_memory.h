// Constants of vector loops as operands in memory.
#pragma once

namespace llvm {
class Module;
}

namespace isthmus::cpu {

// Lets arithmetic on vectors of floats read its constants from memory, as whole vectors.
//
// AVX2 broadcasts a constant by an instruction of its own, and registers are 16: a loop with more
// constants than these broadcasts the rest in each round. Whole vectors in memory are operands of
// the arithmetic itself, and the register allocator may keep them in registers all the same. For
// targets without operands that are broadcast (AVX-512 has them), after the last pass on IR, which
// would fold them back.
void keepConstantsInMemory(llvm::Module& module);

}  // namespace isthmus::cpu
