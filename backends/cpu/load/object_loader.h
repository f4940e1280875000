// Loads ELF object files (x86-64, as jit.h makes them) into executable memory. Needs no LLVM.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/status.h"

namespace isthmus::cpu {

// Finds the address of a symbol that no object defines, such as `sinf`; null if there is none.
using SymbolResolver = void* (*)(const std::string& name);

// The C library's mathematical and memory functions that generated code may call by name.
void* resolveRuntimeSymbol(const std::string& name);
// The names of all of them.
std::vector<std::string_view> runtimeSymbols();

// Code of one executable, mapped until destruction. Immutable after load, so shared freely.
class LoadedCode {
 public:
  // Objects may refer to each other's functions. kInvalidArgument if an object is malformed or of
  // another kind, kNotFound if a symbol is nowhere defined, kResourceExhausted if the system has no
  // memory for it.
  static StatusOr<std::unique_ptr<LoadedCode>> load(std::span<const std::string> objects,
                                                    SymbolResolver resolver = resolveRuntimeSymbol);
  ~LoadedCode();
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  // Address of a global symbol; null if none has that name.
  void* lookup(std::string_view name) const;
  // Bytes of memory taken.
  size_t sizeBytes() const;

  struct Impl;

 private:
  LoadedCode();
  std::unique_ptr<Impl> impl_;
};

}  // namespace isthmus::cpu
