// The large constants of a program: one aligned block that lives as long as its executable.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace isthmus {

// Builds the block; equal constants are stored once.
class ConstantPool {
 public:
  // The offset of `bytes` in the block.
  int64_t add(const std::string& bytes);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::unordered_map<size_t, std::vector<int64_t>> offsets_;  // by hash of the contents
};

// Immutable memory aligned for kernels. data() is null if it is empty or there was no memory.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::string_view bytes);
  char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* data) const;
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

}  // namespace isthmus
