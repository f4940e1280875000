// Mutates MLIR bytecode section by section, so that most mutants pass the container's checks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::fuzz {

// For LLVMFuzzerCustomMutator: changes `data` in place and returns its new size. Bytes that are no
// bytecode are mutated as bytes.
size_t mutateBytecode(uint8_t* data, size_t size, size_t maxSize, unsigned seed);

}  // namespace isthmus::fuzz
