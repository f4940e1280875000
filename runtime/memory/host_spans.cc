// Spans: which blocks of theirs are free, and who uses them.
#include "runtime/memory/host_spans.h"

#include <sys/mman.h>

#include <bit>
#include <new>

namespace isthmus {

int smallClass(size_t bytes) {
  if (bytes <= kLinearLimit) {
    return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / kBlockAlignment);
  }
  int octave = std::bit_width(bytes - 1) - 1;  // 2^octave < bytes <= 2^(octave + 1)
  int quarter = static_cast<int>((bytes - 1) >> (octave - 2)) & 3;
  return kLinearClasses + 4 * (octave - 10) + quarter;
}

size_t smallClassBytes(int index) {
  if (index < kLinearClasses) return static_cast<size_t>(index + 1) * kBlockAlignment;
  int octave = 10 + (index - kLinearClasses) / 4;
  int quarter = (index - kLinearClasses) % 4;
  return static_cast<size_t>(5 + quarter) << (octave - 2);
}

HostSpans::Chunk& HostSpans::chunkOf(const void* data) {
  return *reinterpret_cast<Chunk*>(reinterpret_cast<uintptr_t>(data) & ~(kHugePageBytes - 1));
}

HostSpans::Span& HostSpans::spanOf(const void* data) {
  const uintptr_t offset = reinterpret_cast<uintptr_t>(data) & (kHugePageBytes - 1);
  return chunkOf(data).spans[offset / kSpanBytes];
}

void HostSpans::link(Span*& head, Span& span) {
  span.previous = nullptr;
  span.next = head;
  if (head != nullptr) head->previous = &span;
  head = &span;
}

void HostSpans::unlink(Span*& head, Span& span) {
  (span.previous != nullptr ? span.previous->next : head) = span.next;
  if (span.next != nullptr) span.next->previous = span.previous;
}

HostSpans::Span* HostSpans::takeSpan(size_t blockBytes) {
  std::lock_guard lock(mutex_);
  if (empty_ == nullptr) {
    void* memory = blocks_.takeAligned();
    if (memory == nullptr) return nullptr;
    auto* chunk = new (memory) Chunk;
    for (size_t i = kSpans; i-- > 0;) {
      chunk->spans[i].begin = static_cast<char*>(memory) + (i == 0 ? kHeaderBytes : i * kSpanBytes);
      link(empty_, chunk->spans[i]);
    }
  }
  Span* span = empty_;
  unlink(empty_, *span);
  --chunkOf(span).numEmpty;
  span->free = nullptr;
  span->used = span->carved = 0;
  const bool isFirst = span == &chunkOf(span).spans[0];
  const size_t bytes = isFirst ? kSpanBytes - kHeaderBytes : kSpanBytes;
  span->capacity = static_cast<uint32_t>(bytes / blockBytes);
  return span;
}

void HostSpans::giveSpan(Span& span) {
  std::lock_guard lock(mutex_);
  span.capacity = 0;
  link(empty_, span);
  Chunk& chunk = chunkOf(&span);
  if (++chunk.numEmpty < kSpans) return;
  for (Span& one : chunk.spans) unlink(empty_, one);
  blocks_.giveAligned(&chunk);
}

FreeBlock* HostSpans::take(int index, int count) {
  Class& sizeClass = classes_[index];
  const size_t bytes = smallClassBytes(index);
  std::lock_guard lock(sizeClass.mutex);
  FreeBlock* chain = nullptr;
  for (; count > 0; --count) {
    Span* span = sizeClass.partial;
    if (span == nullptr) {
      span = takeSpan(bytes);
      if (span == nullptr) break;
      link(sizeClass.partial, *span);
    }
    FreeBlock* block = span->free;
    if (block != nullptr) {
      span->free = block->next;
    } else {
      block = reinterpret_cast<FreeBlock*>(span->begin + span->carved++ * bytes);
    }
    if (++span->used == span->capacity) unlink(sizeClass.partial, *span);
    block->next = chain;
    chain = block;
  }
  return chain;
}

void HostSpans::give(int index, FreeBlock* first, FreeBlock* last) {
  Class& sizeClass = classes_[index];
  std::lock_guard lock(sizeClass.mutex);
  for (FreeBlock* block = first;; block = first) {
    first = block->next;
    Span& span = spanOf(block);
    if (span.used == span.capacity) link(sizeClass.partial, span);
    block->next = span.free;
    span.free = block;
    if (--span.used == 0) {
      unlink(sizeClass.partial, span);
      giveSpan(span);
    }
    if (block == last) break;
  }
}

void HostSpans::trim() {
  std::lock_guard lock(mutex_);
  for (Span* span = empty_; span != nullptr; span = span->next) {
    const size_t offset = reinterpret_cast<uintptr_t>(span->begin) % kSpanBytes;
    madvise(span->begin, kSpanBytes - offset, MADV_DONTNEED);
  }
}

void HostSpans::lock() {
  for (Class& sizeClass : classes_) sizeClass.mutex.lock();
  mutex_.lock();
}

void HostSpans::unlock() {
  mutex_.unlock();
  for (Class& sizeClass : classes_) sizeClass.mutex.unlock();
}

}  // namespace isthmus
