#include "runtime/ffi/task_pool.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "isthmus/thread.h"
#include "runtime/threads/fork.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus::ffi {
namespace {

// How long all threads may take over their tasks before one more is started.
constexpr auto kPatience = std::chrono::milliseconds(20);

struct Task {
  void (*function)(void*);
  void* data;
};

// Threads are never joined: the pool belongs to the process.
class Pool {
 public:
  void push(Task task) {
    {
      std::lock_guard lock(mutex_);
      if (idle_ == 0 && threads_ < computeThreads()) start();
      if (threads_ > 0) {
        tasks_.push_back(task);
        if (idle_ > 0) {
          wakeUp_.notify_one();
        } else if (threads_ >= computeThreads() && !isWatched_) {
          // Without a watch the task waits until a thread is free.
          isWatched_ = startDetachedThread({.name = "isthmus-ffi"}, [this] { watch(); });
        }
        return;
      }
    }
    task.function(task.data);  // there can be no thread
  }

 private:
  void start() {
    if (startDetachedThread({.name = "isthmus-ffi"}, [this] { work(); })) ++threads_;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      while (tasks_.empty()) {
        // The threads that were added for tasks that had got stuck go when those are done.
        if (threads_ > computeThreads()) {
          --threads_;
          return;
        }
        ++idle_;
        wakeUp_.wait(lock);
        --idle_;
      }
      Task task = tasks_.front();
      tasks_.pop_front();
      ++started_;
      lock.unlock();
      task.function(task.data);
      lock.lock();
    }
  }

  // Lives while tasks wait.
  void watch() {
    std::unique_lock lock(mutex_);
    while (!tasks_.empty()) {
      int64_t started = started_;
      lock.unlock();
      std::this_thread::sleep_for(kPatience);
      lock.lock();
      if (started_ == started && !tasks_.empty()) start();
    }
    isWatched_ = false;
  }

  std::mutex mutex_;
  std::condition_variable wakeUp_;
  std::deque<Task> tasks_;
  int threads_ = 0;
  int idle_ = 0;
  int64_t started_ = 0;
  bool isWatched_ = false;
};

}  // namespace

void scheduleTask(void (*task)(void* data), void* data) { perProcess<Pool>().push({task, data}); }

}  // namespace isthmus::ffi
