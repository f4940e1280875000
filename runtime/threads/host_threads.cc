// Idle threads wait for a while for the next task, then end.
#include "runtime/threads/host_threads.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "isthmus/log.h"
#include "isthmus/thread.h"
#include "runtime/threads/fork.h"

namespace isthmus {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(10);

// Tasks report errors to whom they concern; one that throws must not end the thread.
void runTask(std::unique_ptr<Task> task) {
  try {
    task->run();
    task.reset();
  } catch (...) {
    log(LogLevel::kError, "a task of a host thread ended by an exception");
  }
}

// Threads are detached: the pool belongs to the process.
class ThreadsOnDemand {
 public:
  explicit ThreadsOnDemand(const ThreadOptions& options) : options_(options) {}

  // Leaves the task with the caller and returns false if there is no thread for it.
  bool push(std::unique_ptr<Task>& task) {
    std::lock_guard lock(mutex_);
    const bool isAwaited = idle_ > waiting_;
    if (!isAwaited && !startDetachedThread(options_, [this] { work(); })) {
      return false;
    }
    Task* added = task.release();
    added->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = added;
    last_ = added;
    ++waiting_;
    if (isAwaited) wakeUp_.notify_one();
    return true;
  }

 private:
  void work() {
    TaskQueue::markQueueThread();
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      bool isWoken = wakeUp_.wait_for(lock, kIdleTime, [this] { return first_ != nullptr; });
      --idle_;
      if (!isWoken) return;
      std::unique_ptr<Task> task(first_);
      first_ = task->next;
      if (first_ == nullptr) last_ = nullptr;
      --waiting_;
      lock.unlock();
      runTask(std::move(task));
      lock.lock();
    }
  }

  const ThreadOptions options_;
  std::mutex mutex_;
  std::condition_variable wakeUp_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  int waiting_ = 0;
  int idle_ = 0;
};

struct HostThreads : ThreadsOnDemand {
  HostThreads() : ThreadsOnDemand({.name = "isthmus-host"}) {}
};

struct CompileThreads : ThreadsOnDemand {
  CompileThreads()
      : ThreadsOnDemand({.name = "isthmus-compile", .stackBytes = kCompileStackBytes}) {}
};

}  // namespace

bool runOnHostThread(std::unique_ptr<Task>& task) { return perProcess<HostThreads>().push(task); }

bool runOnCompileThread(std::unique_ptr<Task>& task) {
  return perProcess<CompileThreads>().push(task);
}

}  // namespace isthmus
