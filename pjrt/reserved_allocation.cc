// Allocations of a plugin, LLVM's included: the linker calls these for the functions of their names
// (--wrap in cmake/isthmus_targets.cmake). They are the host program's functions, except where
// these fail during work that has a reserve (isthmus/memory_reserve.h).
#include <cstdlib>
#include <new>
#include <string>

#include "isthmus/memory_reserve.h"

// Growing strings call an operator new that is the C++ library's own matter; with a copy of their
// functions in the plugin it is ours.
template class std::basic_string<char>;

namespace {

using isthmus::MemoryReserve;

// What `allocate` returns, if need be after the reserve was given back; null if there is no memory.
template <typename F>
void* withReserve(size_t bytes, F allocate) noexcept {
  void* memory = allocate();
  if (memory == nullptr && bytes != 0) [[unlikely]] {
    MemoryReserve* reserve = MemoryReserve::current();
    if (reserve != nullptr && reserve->release(bytes)) memory = allocate();
  }
  return memory;
}

// The same for functions that C programs use and LLVM does not check everywhere. Of work that has a
// reserve somebody catches what is thrown; LLVM's frames have tables for that.
template <typename F>
void* orThrow(size_t bytes, F allocate) {
  void* memory = withReserve(bytes, allocate);
  if (memory == nullptr && bytes != 0 && MemoryReserve::current() != nullptr)
    throw std::bad_alloc();
  return memory;
}

// Throws what the host program's function throws.
template <typename F>
void* newWithReserve(size_t bytes, F allocate) {
  try {
    return allocate();
  } catch (const std::bad_alloc&) {
    MemoryReserve* reserve = MemoryReserve::current();
    if (reserve == nullptr || !reserve->release(bytes)) throw;
  }
  return allocate();
}

}  // namespace

extern "C" {

void* __real_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes) {
  return orThrow(bytes, [=] { return __real_malloc(bytes); });
}

void* __real_calloc(size_t count, size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes) {
  size_t all = 0;
  if (__builtin_mul_overflow(count, bytes, &all)) all = SIZE_MAX;
  return orThrow(all, [=] { return __real_calloc(count, bytes); });
}

void* __real_realloc(void* data, size_t bytes);
void* __wrap_realloc(void* data, size_t bytes) {
  return orThrow(bytes, [=] { return __real_realloc(data, bytes); });
}

// operator new, by the names that the linker knows: (size_t), [], with alignment, and without
// exceptions.
void* __real__Znwm(size_t bytes);
void* __wrap__Znwm(size_t bytes) {
  return newWithReserve(bytes, [=] { return __real__Znwm(bytes); });
}

void* __real__Znam(size_t bytes);
void* __wrap__Znam(size_t bytes) {
  return newWithReserve(bytes, [=] { return __real__Znam(bytes); });
}

void* __real__ZnwmSt11align_val_t(size_t bytes, std::align_val_t alignment);
void* __wrap__ZnwmSt11align_val_t(size_t bytes, std::align_val_t alignment) {
  return newWithReserve(bytes, [=] { return __real__ZnwmSt11align_val_t(bytes, alignment); });
}

void* __real__ZnamSt11align_val_t(size_t bytes, std::align_val_t alignment);
void* __wrap__ZnamSt11align_val_t(size_t bytes, std::align_val_t alignment) {
  return newWithReserve(bytes, [=] { return __real__ZnamSt11align_val_t(bytes, alignment); });
}

void* __real__ZnwmRKSt9nothrow_t(size_t bytes, const std::nothrow_t& nothrow);
void* __wrap__ZnwmRKSt9nothrow_t(size_t bytes, const std::nothrow_t& nothrow) {
  return withReserve(bytes, [&] { return __real__ZnwmRKSt9nothrow_t(bytes, nothrow); });
}

void* __real__ZnamRKSt9nothrow_t(size_t bytes, const std::nothrow_t& nothrow);
void* __wrap__ZnamRKSt9nothrow_t(size_t bytes, const std::nothrow_t& nothrow) {
  return withReserve(bytes, [&] { return __real__ZnamRKSt9nothrow_t(bytes, nothrow); });
}

void* __real__ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t& nothrow);
void* __wrap__ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t& nothrow) {
  return withReserve(
      bytes, [&] { return __real__ZnwmSt11align_val_tRKSt9nothrow_t(bytes, alignment, nothrow); });
}

void* __real__ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t& nothrow);
void* __wrap__ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, std::align_val_t alignment,
                                                const std::nothrow_t& nothrow) {
  return withReserve(
      bytes, [&] { return __real__ZnamSt11align_val_tRKSt9nothrow_t(bytes, alignment, nothrow); });
}

// Static variables of functions.
int __real___cxa_guard_acquire(void* guard);
int __wrap___cxa_guard_acquire(void* guard) {
  const int isOurs = __real___cxa_guard_acquire(guard);
  if (isOurs != 0) MemoryReserve::Share::beginStatic(guard);
  return isOurs;
}

void __real___cxa_guard_release(void* guard) noexcept;
void __wrap___cxa_guard_release(void* guard) noexcept {
  MemoryReserve::Share::endStatic(guard);
  __real___cxa_guard_release(guard);
}

void __real___cxa_guard_abort(void* guard) noexcept;
void __wrap___cxa_guard_abort(void* guard) noexcept {
  MemoryReserve::Share::endStatic(guard);
  __real___cxa_guard_abort(guard);
}

}  // extern "C"
