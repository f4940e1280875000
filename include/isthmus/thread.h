// Threads of ours. Making one may fail, where the machine or a container limits their number:
// whoever starts one must be able to go on without it.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace isthmus {

// Stack for compilation, whose recursion follows the program: address space, of which a usual
// program touches less than a thousandth.
inline constexpr size_t kCompileStackBytes = size_t{256} << 20;

// How a thread begins. All of them block every signal that others send, which are the host
// program's, and begin in the mode FloatMode::kIeee.
struct ThreadOptions {
  const char* name = "isthmus";  // at most 15 characters
  size_t stackBytes = 0;         // 0: the default; only what is touched takes memory
};

// Runs `body` on a new thread that nobody waits for. False if there can be none; then nothing
// happens. An exception that leaves `body` is dropped.
bool startDetachedThread(const ThreadOptions& options, std::function<void()> body) noexcept;

// Threads that are waited for when the object goes.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup() { join(); }
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // False if there can be no thread; then nothing happens.
  bool start(const ThreadOptions& options, std::function<void()> body) noexcept;
  void join();
  // Nobody waits for them any more.
  void detach();
  size_t size() const { return threads_.size(); }

 private:
  std::vector<pthread_t> threads_;
};

}  // namespace isthmus
