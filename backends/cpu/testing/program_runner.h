// From program text to results, for tests: one device, one thread, no runtime.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/load/executable.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus::cpu::testing {

// An array as bytes.
using Bytes = std::vector<char>;

template <typename T>
Bytes toBytes(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <typename T>
std::vector<T> fromBytes(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Parses StableHLO text, wraps each operation in a fusion and compiles it, plan and code verified.
StatusOr<ProgramImage> compileText(const std::string& text);

// Runs on aligned copies of `arguments`. Donated parameters share memory with their output.
// Freed scratch memory and the memory of results are filled with garbage first.
StatusOr<std::vector<Bytes>> runExecutable(const Executable& executable,
                                           const std::vector<Bytes>& arguments);

// compileText, then runExecutable.
StatusOr<std::vector<Bytes>> runText(const std::string& text, const std::vector<Bytes>& arguments);

}  // namespace isthmus::cpu::testing
