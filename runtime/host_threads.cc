// Idle threads wait for a while for the next task, then end.
#include "runtime/host_threads.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/fork.h"

namespace isthmus {
namespace {

constexpr auto kIdleTime = std::chrono::seconds(10);

// Threads are detached: the pool belongs to the process.
class HostThreads {
 public:
  void push(std::unique_ptr<Task> task) {
    std::lock_guard lock(mutex_);
    Task* added = task.release();
    added->next = nullptr;
    (last_ != nullptr ? last_->next : first_) = added;
    last_ = added;
    ++waiting_;
    if (idle_ >= waiting_) {
      wakeUp_.notify_one();
    } else {
      std::thread([this] { work(); }).detach();
    }
  }

 private:
  void work() {
    pthread_setname_np(pthread_self(), "isthmus-host");
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
      task->run();
      task.reset();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wakeUp_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  int waiting_ = 0;
  int idle_ = 0;
};

}  // namespace

void runOnHostThread(std::unique_ptr<Task> task) {
  perProcess<HostThreads>().push(std::move(task));
}

}  // namespace isthmus
