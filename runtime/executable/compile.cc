// The stack, the floating-point mode and the exceptions of compilation.
#include "runtime/executable/compile.h"

#include <pthread.h>

#include <new>
#include <stdexcept>

#include "isthmus/float_mode.h"
#include "isthmus/memory_reserve.h"
#include "isthmus/out_of_memory.h"
#include "runtime/event.h"
#include "runtime/threads/host_threads.h"

namespace isthmus {
namespace {

// With less than this, a program of the greatest depth that import lets through would overflow.
constexpr size_t kMinStackBytes = size_t{4} << 20;

// Bytes of the calling thread's stack that are left; 0 if it cannot be known.
size_t stackLeft() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* base = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &base, &size);
  pthread_attr_destroy(&attributes);
  auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  auto begin = reinterpret_cast<uintptr_t>(base);
  return here > begin && here - begin <= size ? here - begin : 0;
}

template <typename T, typename F>
StatusOr<T> guarded(F& function) {
  MemoryReserve reserve;
  if (!reserve.isHeld()) return outOfHostMemory();
  // XLA's compiler does not flush subnormal numbers either: constants are folded as they are.
  ScopedFloatMode mode(FloatMode::kIeee);
  try {
    StatusOr<T> result = function();
    // What was made of the reserve would leave none to the next one.
    if (reserve.wasNeeded()) return outOfHostMemory();
    return result;
  } catch (const std::bad_alloc&) {
    return outOfHostMemory();
  } catch (const std::length_error&) {
    return outOfHostMemory();
  } catch (const std::exception& error) {
    try {
      return internalError("the compiler failed: ", error.what());
    } catch (...) {
      return outOfHostMemory();
    }
  }
}

template <typename T, typename F>
StatusOr<T> onCompileThread(F function) {
  struct Call final : Task {
    Call(F& function, StatusOr<T>& result, const Promise& done)
        : function(function), result(result), done(done) {}
    void run() override {
      result = guarded<T>(function);
      // The caller may be gone, with what the members refer to, as soon as this happens.
      Promise(done).set();
    }
    F& function;
    StatusOr<T>& result;
    const Promise& done;
  };
  StatusOr<T> result = internalError("the compiler did not run");
  Promise done;
  std::unique_ptr<Task> call = std::make_unique<Call>(function, result, done);
  if (runOnCompileThread(call)) {
    (void)done.event().await();
    return result;
  }
  if (stackLeft() < kMinStackBytes) {
    return resourceExhausted("no thread can be started to compile on, and this thread's stack is ",
                             "too small");
  }
  return guarded<T>(function);
}

}  // namespace

StatusOr<std::shared_ptr<const Executable>> compileProgram(Backend& backend,
                                                           const CompileRequest& request,
                                                           const ProgramMemory::Limits* limits) {
  return onCompileThread<std::shared_ptr<const Executable>>([&] {
    const ProgramMemory::LimitScope scope(limits);
    return backend.compile(request);
  });
}

StatusOr<std::string> optimizedProgram(Backend& backend, const ProgramInfo& info) {
  return onCompileThread<std::string>([&] { return backend.optimizedProgram(info); });
}

StatusOr<std::shared_ptr<const Executable>> deserializeProgram(
    Backend& backend, std::string_view bytes, const ProgramMemory::Limits* limits) {
  const ProgramMemory::LimitScope scope(limits);
  auto load = [&] { return backend.deserialize(bytes); };
  return guarded<std::shared_ptr<const Executable>>(load);
}

}  // namespace isthmus
