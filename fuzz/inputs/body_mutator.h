// Bodies of serialised executables: mutated from those that a backend has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t maxSize);

namespace isthmus::fuzz {

// For LLVMFuzzerCustomMutator: changes `data` in place and returns its new size. The inputs that
// libFuzzer begins with have no body yet: they become one of `seeds`.
inline size_t mutateBody(const std::vector<std::string>& seeds, uint8_t* data, size_t size,
                         size_t maxSize, unsigned seed) {
  const std::string& body = seeds[seed % seeds.size()];
  if (size >= 64 || body.size() > maxSize) return LLVMFuzzerMutate(data, size, maxSize);
  std::memcpy(data, body.data(), body.size());
  return body.size();
}

}  // namespace isthmus::fuzz
