// Small blocks of host memory, cut from spans that any size class may use once they are empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "runtime/memory/host_blocks.h"

namespace isthmus {

// A free block, which holds the chain itself.
struct FreeBlock {
  FreeBlock* next;
};

// Size classes: 64, 128, …, 1024, then four per doubling.
inline constexpr size_t kLinearLimit = 1024;
inline constexpr int kLinearClasses = kLinearLimit / kBlockAlignment;
inline constexpr int kSmallClasses = kLinearClasses + 4 * 5;
int smallClass(size_t bytes);  // of fewer than kMinLargeBytes bytes
size_t smallClassBytes(int index);

// A chunk is a large block of kHugePageBytes; its spans serve one size class each, as long as any
// of their blocks is in use. A chunk of empty spans goes back to the large blocks. Safe from any
// thread.
class HostSpans {
 public:
  explicit HostSpans(HostBlocks& blocks) : blocks_(blocks) {}

  // A chain of up to `count` blocks of a class, null if there is no memory.
  FreeBlock* take(int index, int count);
  // A chain of blocks of one class; `last->next` is ignored.
  void give(int index, FreeBlock* first, FreeBlock* last);

  // Gives the memory of empty spans back that share a chunk with used ones.
  void trim();

  void lock();
  void unlock();

 private:
  static constexpr size_t kSpanBytes = 128 << 10;
  static constexpr size_t kSpans = kHugePageBytes / kSpanBytes;
  // Of the first span, where the chunk itself lies.
  static constexpr size_t kHeaderBytes = 4096;

  struct Chunk;
  struct Span {
    FreeBlock* free = nullptr;
    uint32_t used = 0;      // blocks that are out
    uint32_t carved = 0;    // blocks that have ever been out since the span is this class's
    uint32_t capacity = 0;  // 0: of no class
    Span* next = nullptr;   // of the same class with blocks left, or empty
    Span* previous = nullptr;
    char* begin = nullptr;
  };
  struct Chunk {
    std::array<Span, kSpans> spans;
    size_t numEmpty = kSpans;
  };
  static_assert(sizeof(Chunk) <= kHeaderBytes);

  struct Class {
    std::mutex mutex;
    Span* partial = nullptr;  // with blocks left
  };

  static Chunk& chunkOf(const void* data);
  static Span& spanOf(const void* data);
  static void link(Span*& head, Span& span);
  static void unlink(Span*& head, Span& span);
  Span* takeSpan(size_t blockBytes);
  void giveSpan(Span& span);

  HostBlocks& blocks_;
  std::array<Class, kSmallClasses> classes_;
  std::mutex mutex_;  // taken with that of a class held
  Span* empty_ = nullptr;
};

}  // namespace isthmus
