// One mapping, which grows with the longest input.
#include "fuzz/inputs/guarded_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace isthmus::fuzz {

std::string_view guardEnd(std::string_view bytes) {
  static const size_t page = sysconf(_SC_PAGESIZE);
  static char* mapping = nullptr;
  static size_t capacity = 0;  // without the page at its end
  if (mapping == nullptr || capacity < bytes.size()) {
    if (mapping != nullptr) munmap(mapping, capacity + page);
    capacity = (2 * bytes.size() / page + 16) * page;
    void* memory =
        mmap(nullptr, capacity + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        mprotect(static_cast<char*>(memory) + capacity, page, PROT_NONE) != 0) {
      std::perror("guardEnd");
      std::abort();
    }
    mapping = static_cast<char*>(memory);
  }
  char* begin = mapping + capacity - bytes.size();
  if (!bytes.empty()) std::memcpy(begin, bytes.data(), bytes.size());
  return {begin, bytes.size()};
}

}  // namespace isthmus::fuzz
