// Memory for generated code, shared by all executables of the process: the kernel bounds how many
// mappings a process has, and a process has many executables.
#pragma once

#include <cstddef>

namespace isthmus::cpu {

// Whole pages, writable until `protect`, then readable and executable until destruction. No page is
// ever both writable and executable, and neighbours with the same rights are one mapping.
class CodeMemory {
 public:
  CodeMemory() = default;
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;
  ~CodeMemory();

  // Null data if there is no memory. Any thread may call at any time.
  static CodeMemory allocate(size_t bytes);
  // False if the kernel refuses, which it does when the process has too many mappings.
  bool protect();

  char* data() const { return data_; }
  size_t size() const { return size_; }  // a multiple of the page size

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace isthmus::cpu
