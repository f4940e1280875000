// What a device's memory holds, for the error when there is no more.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/memory/program_memory.h"
#include "isthmus/types.h"
#include "runtime/threads/fork_mutex.h"

namespace isthmus {

// What a block is there for.
struct BlockOrigin {
  const ArrayType* type = nullptr;  // null: no array
  std::string_view what;            // "result 1 of jit_step at train.py:12"
};

// Safe from any thread.
class LiveBlocks {
 public:
  void add(const void* data, size_t bytes, const BlockOrigin& origin);
  void remove(const void* data);
  // "3 blocks of 1.2 GiB: f32[1024,1024] of 4.0 MiB (result …), …": the largest `count` of them,
  // and of what programs have beside.
  std::string largest(size_t count, std::span<const ProgramMemory::Entry> programs) const;

 private:
  struct Block {
    size_t bytes;
    std::string text;
  };
  mutable ForkMutex mutex_;
  std::unordered_map<const void*, Block> blocks_;
};

// "512 bytes", "1.5 MiB".
std::string byteSizeText(size_t bytes);

}  // namespace isthmus
