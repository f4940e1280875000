// The C library's functions under their own names, in front of the real ones.
#include "test/faults/fault_points.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string_view>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* data, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* data);
}

namespace isthmus::faults {
namespace {

constexpr int kCallers = 6;

std::atomic<Kind> armed{Kind::kNone};
std::atomic<int64_t> calls{0}, failing{-1};
std::atomic<bool> isSticky{false}, failed{false};
// What has been given back since there is no other memory.
std::atomic<bool> isExhausted{false};
std::atomic<size_t> available{0};
std::atomic<Record*> record{nullptr};
std::atomic_flag recording = ATOMIC_FLAG_INIT;
// Finding out who calls may call what is counted.
thread_local bool isInside = false;

void note(Record& into, uint64_t number) {
  void* callers[kCallers + 2];
  const int depth = backtrace(callers, kCallers + 2);
  uint64_t hash = 1469598103934665603u;
  for (int i = 2; i < depth; ++i) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(callers[i])) * 1099511628211u;
  }
  while (recording.test_and_set()) {
  }
  ++into.calls;
  constexpr size_t kSlots = Record::kMaxPlaces * 2;
  size_t slot = hash % kSlots;
  while (into.hashes[slot] != 0 && into.hashes[slot] != hash) slot = (slot + 1) % kSlots;
  if (into.hashes[slot] == 0 && into.numPlaces < Record::kMaxPlaces) {
    into.hashes[slot] = hash;
    into.places[into.numPlaces++] = number;
  }
  recording.clear();
}

bool fails(Kind kind) {
  if (armed.load(std::memory_order_relaxed) != kind || isInside) return false;
  const int64_t number = calls.fetch_add(1, std::memory_order_relaxed);
  if (Record* into = record.load(std::memory_order_relaxed)) {
    isInside = true;
    note(*into, static_cast<uint64_t>(number));
    isInside = false;
    return false;
  }
  const int64_t chosen = failing.load(std::memory_order_relaxed);
  if (chosen < 0 || number < chosen || (number > chosen && !isSticky)) return false;
  failed = true;
  return true;
}

// What the C library allocates for itself, such as thread-local storage: it ends the process where
// there is no memory for that.
struct Range {
  uintptr_t begin, end;
};
constexpr size_t kMaxRanges = 8;
Range libraries[kMaxRanges];
std::atomic<size_t> numLibraries{0};

int noteLibrary(dl_phdr_info* info, size_t, void*) {
  const std::string_view name(info->dlpi_name);
  if (name.find("/libc.so") == name.npos && name.find("/ld-linux") == name.npos) return 0;
  for (int i = 0; i < info->dlpi_phnum && numLibraries < kMaxRanges; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    libraries[numLibraries++] = {begin, begin + segment.p_memsz};
  }
  return 0;
}

bool isOfTheLibrary(const void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  for (size_t i = 0; i < numLibraries; ++i) {
    if (at >= libraries[i].begin && at < libraries[i].end) return true;
  }
  return false;
}

void giveBack(size_t bytes) {
  if (isExhausted.load(std::memory_order_relaxed)) available += bytes;
}

// False if so much has not been given back.
bool take(size_t bytes) {
  if (!isExhausted.load(std::memory_order_relaxed) || isInside) return true;
  size_t before = available;
  while (before >= bytes && !available.compare_exchange_weak(before, before - bytes)) {
  }
  return before >= bytes;
}

bool failsFor(size_t bytes, const void* caller) {
  if (isOfTheLibrary(caller)) return false;
  if (fails(Kind::kExhausted)) isExhausted = true;
  if (!take(bytes)) return true;
  return fails(Kind::kMemory) || (bytes >= kLargeBytes && fails(Kind::kLarge));
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

void arm(Kind kind, int64_t number, bool sticky, Record* into) {
  void* callers[2];
  backtrace(callers, 2);  // loads what it needs
  if (numLibraries == 0) dl_iterate_phdr(&noteLibrary, nullptr);
  calls = 0;
  failing = number;
  isSticky = sticky;
  failed = false;
  isExhausted = false;
  available = 0;
  record = into;
  armed = kind;
}

void disarm() {
  armed = Kind::kNone;
  isExhausted = false;
}

bool hasFailed() { return failed; }

}  // namespace isthmus::faults

using isthmus::faults::fails;
using isthmus::faults::giveBack;
using isthmus::faults::Kind;
using isthmus::faults::real;
using isthmus::faults::take;

#define ISTHMUS_FAIL_MEMORY(bytes)                                     \
  if (isthmus::faults::failsFor(bytes, __builtin_return_address(0))) { \
    errno = ENOMEM;                                                    \
    return nullptr;                                                    \
  }
#define ISTHMUS_FAIL(kind, error, result) \
  if (fails(kind)) {                      \
    errno = error;                        \
    return result;                        \
  }

extern "C" {

void* malloc(size_t bytes) {
  ISTHMUS_FAIL_MEMORY(bytes)
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ISTHMUS_FAIL_MEMORY(count * bytes)
  return __libc_calloc(count, bytes);
}
void* realloc(void* data, size_t bytes) {
  ISTHMUS_FAIL_MEMORY(bytes)
  if (data != nullptr) giveBack(malloc_usable_size(data));
  return __libc_realloc(data, bytes);
}
void free(void* data) {
  if (data != nullptr) giveBack(malloc_usable_size(data));
  __libc_free(data);
}
void* memalign(size_t alignment, size_t bytes) {
  ISTHMUS_FAIL_MEMORY(bytes)
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** data, size_t alignment, size_t bytes) {
  void* made = memalign(alignment, bytes);
  if (made == nullptr) return ENOMEM;
  *data = made;
  return 0;
}

void* mmap(void* address, size_t bytes, int rights, int flags, int file, off_t offset) {
  ISTHMUS_FAIL(Kind::kMapping, ENOMEM, MAP_FAILED)
  if ((flags & MAP_ANONYMOUS) != 0 && !take(bytes)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  static const auto next = real<decltype(&mmap)>("mmap");
  return next(address, bytes, rights, flags, file, offset);
}
void* mmap64(void* address, size_t bytes, int rights, int flags, int file, off_t offset) {
  return mmap(address, bytes, rights, flags, file, offset);
}
int munmap(void* address, size_t bytes) {
  giveBack(bytes);
  static const auto next = real<decltype(&munmap)>("munmap");
  return next(address, bytes);
}
int mprotect(void* address, size_t bytes, int rights) {
  ISTHMUS_FAIL(Kind::kMapping, ENOMEM, -1)
  static const auto next = real<decltype(&mprotect)>("mprotect");
  return next(address, bytes, rights);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
  if (fails(Kind::kThread)) return EAGAIN;
  static const auto next = real<decltype(&pthread_create)>("pthread_create");
  return next(thread, attributes, function, argument);
}

#define ISTHMUS_OPEN(name)                                                \
  int name(const char* path, int flags, ...) {                            \
    ISTHMUS_FAIL(Kind::kFile, EMFILE, -1)                                 \
    va_list arguments;                                                    \
    va_start(arguments, flags);                                           \
    const int mode = va_arg(arguments, int);                              \
    va_end(arguments);                                                    \
    static const auto next = real<int (*)(const char*, int, int)>(#name); \
    return next(path, flags, mode);                                       \
  }
ISTHMUS_OPEN(open)
ISTHMUS_OPEN(open64)

FILE* fopen(const char* path, const char* mode) {
  ISTHMUS_FAIL(Kind::kFile, EMFILE, nullptr)
  static const auto next = real<decltype(&fopen)>("fopen");
  return next(path, mode);
}
FILE* fopen64(const char* path, const char* mode) {
  ISTHMUS_FAIL(Kind::kFile, EMFILE, nullptr)
  static const auto next = real<decltype(&fopen64)>("fopen64");
  return next(path, mode);
}
ssize_t read(int file, void* data, size_t bytes) {
  ISTHMUS_FAIL(Kind::kFile, EIO, -1)
  static const auto next = real<decltype(&read)>("read");
  return next(file, data, bytes);
}
ssize_t write(int file, const void* data, size_t bytes) {
  ISTHMUS_FAIL(Kind::kFile, ENOSPC, -1)
  static const auto next = real<decltype(&write)>("write");
  return next(file, data, bytes);
}
struct iovec;
ssize_t writev(int file, const struct iovec* pieces, int count) {
  ISTHMUS_FAIL(Kind::kFile, ENOSPC, -1)
  static const auto next = real<ssize_t (*)(int, const struct iovec*, int)>("writev");
  return next(file, pieces, count);
}
int rename(const char* from, const char* to) {
  ISTHMUS_FAIL(Kind::kFile, EXDEV, -1)
  static const auto next = real<decltype(&rename)>("rename");
  return next(from, to);
}
int mkdir(const char* path, mode_t mode) {
  ISTHMUS_FAIL(Kind::kFile, ENOSPC, -1)
  static const auto next = real<int (*)(const char*, mode_t)>("mkdir");
  return next(path, mode);
}

}  // extern "C"
