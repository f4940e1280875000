// First fit in regions of executable pages. A region's pages get their memory when they are
// written and give it back when they are freed; the regions themselves stay.
#include "backends/cpu/load/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "runtime/threads/fork.h"

namespace isthmus::cpu {
namespace {

constexpr size_t kRegionBytes = size_t{64} << 20;
constexpr int kCodeRights = PROT_READ | PROT_EXEC;

size_t pageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

class Regions {
 public:
  char* allocate(size_t bytes) {
    std::lock_guard lock(mutex_);
    char* data = take(bytes);
    if (data == nullptr && addRegion(bytes)) data = take(bytes);
    if (data == nullptr) return nullptr;
    if (mprotect(data, bytes, PROT_READ | PROT_WRITE) == 0) return data;
    give(data, bytes);
    return nullptr;
  }

  void free(char* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    madvise(data, bytes, MADV_DONTNEED);
    mprotect(data, bytes, kCodeRights);
    give(data, bytes);
  }

 private:
  bool addRegion(size_t atLeast) {
    size_t bytes = std::max(atLeast, kRegionBytes);
    for (;;) {
      void* region =
          mmap(nullptr, bytes, kCodeRights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (region != MAP_FAILED) {
        give(static_cast<char*>(region), bytes);
        return true;
      }
      // Where address space is limited, rather a small one.
      if (bytes == atLeast) return false;
      bytes = atLeast;
    }
  }

  char* take(size_t bytes) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < bytes) continue;
      char* data = it->first;
      auto node = free_.extract(it);
      node.key() += bytes;
      node.mapped() -= bytes;
      if (node.mapped() > 0) free_.insert(std::move(node));
      return data;
    }
    return nullptr;
  }

  void give(char* data, size_t bytes) {
    auto next = free_.lower_bound(data);
    if (next != free_.end() && next->first == data + bytes) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto before = std::prev(next);
      if (before->first + before->second == data) {
        before->second += bytes;
        return;
      }
    }
    try {
      free_.emplace_hint(next, data, bytes);
    } catch (const std::bad_alloc&) {
      // What cannot be noted is lost: addresses, no memory. Executables end with it.
    }
  }

  std::mutex mutex_;
  std::map<char*, size_t> free_;
};

}  // namespace

CodeMemory::CodeMemory(CodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) perProcess<Regions>().free(data_, size_);
}

CodeMemory CodeMemory::allocate(size_t bytes) {
  CodeMemory memory;
  size_t rounded = (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
  if (rounded < bytes || rounded == 0) return memory;
  memory.data_ = perProcess<Regions>().allocate(rounded);
  if (memory.data_ != nullptr) memory.size_ = rounded;
  return memory;
}

bool CodeMemory::protect() { return mprotect(data_, size_, kCodeRights) == 0; }

}  // namespace isthmus::cpu
