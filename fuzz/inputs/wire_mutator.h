// Mutates protobuf messages as trees, so that lengths stay right however deep a change is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::fuzz {

// For LLVMFuzzerCustomMutator: changes `data` in place and returns its new size. Bytes that are no
// message are mutated as bytes.
size_t mutateMessage(uint8_t* data, size_t size, size_t maxSize, unsigned seed);

}  // namespace isthmus::fuzz
