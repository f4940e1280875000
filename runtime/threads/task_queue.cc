// The queue's list and its thread.
#include "runtime/threads/task_queue.h"

#include <condition_variable>
#include <mutex>

#include "isthmus/log.h"
#include "isthmus/thread.h"
#include "runtime/ref.h"
#include "runtime/threads/fork.h"
#include "runtime/threads/spin.h"
#include "runtime/threads/thread_pool.h"

namespace isthmus {

// Shared by the queue and its thread, since either may outlive the other: the last task may be what
// destroys the queue.
struct TaskQueue::State : RefCounted<State> {
  explicit State(std::string threadName)
      : generation(forkGeneration()), threadName(std::move(threadName)) {}

  const uint32_t generation;
  const std::string threadName;
  std::mutex mutex;
  std::condition_variable wakeUp;
  Task* first = nullptr;
  Task* last = nullptr;
  bool isSleeping = false;
  bool isStopping = false;
  std::atomic<int64_t> unfinished{0};
  std::atomic<int64_t> waiting{0};
  // The tasks are run by the thread or, where none can be started, by whoever pushes the first.
  bool hasThread = false;
  bool isDraining = false;
  ThreadGroup thread;

  bool startThread();
  void work();
  void drain(std::unique_lock<std::mutex>& lock);
  void finish(std::unique_ptr<Task> task);
  void lookOut() const;
  std::unique_ptr<Task> take();
  std::unique_ptr<Task> pop();
};

namespace {
thread_local const TaskQueue::State* stateOfThisThread = nullptr;
thread_local bool isMarkedThread = false;

// Over all queues: tasks that have not ended, and threads that look out for one. What a child of a
// fork inherits only makes it look out less.
std::atomic<int64_t> numUnfinished{0};
std::atomic<int64_t> numLookingOut{0};
}  // namespace

// Launches often come one soon after the other, and waking costs more than looking out for a while:
// where a CPU is left for it beside the tasks of other queues and whoever pushes.
void TaskQueue::State::lookOut() const {
  const int64_t cpus = computeThreads();
  numLookingOut.fetch_add(1, std::memory_order_relaxed);
  spinUntil(
      [&] {
        return waiting.load(std::memory_order_relaxed) > 0 ||
               numUnfinished.load(std::memory_order_relaxed) +
                       numLookingOut.load(std::memory_order_relaxed) >=
                   cpus;
      },
      1000);
  numLookingOut.fetch_sub(1, std::memory_order_relaxed);
}

// Null when the queue is stopping and empty.
std::unique_ptr<Task> TaskQueue::State::pop() {
  lookOut();
  std::unique_lock lock(mutex);
  while (first == nullptr) {
    if (isStopping) return nullptr;
    isSleeping = true;
    wakeUp.wait(lock);
    isSleeping = false;
  }
  return take();
}

// With the mutex held, and something in the list.
std::unique_ptr<Task> TaskQueue::State::take() {
  std::unique_ptr<Task> task(first);
  first = task->next;
  if (first == nullptr) last = nullptr;
  waiting.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

void TaskQueue::State::finish(std::unique_ptr<Task> task) {
  try {
    task->run();
    task.reset();
  } catch (...) {
    // Tasks report errors to whom they concern; one that throws must not end the thread.
    log(LogLevel::kError, threadName, ": a task ended by an exception");
  }
  numUnfinished.fetch_sub(1, std::memory_order_relaxed);
  unfinished.fetch_sub(1, std::memory_order_release);
}

void TaskQueue::State::work() {
  stateOfThisThread = this;
  while (std::unique_ptr<Task> task = pop()) finish(std::move(task));
}

// With the mutex held.
bool TaskQueue::State::startThread() {
  // A thread beside one that drains would run two tasks at once.
  if (hasThread || isDraining) return hasThread;
  hasThread =
      thread.start({.name = threadName.c_str()}, [shared = Ref<State>(this)] { shared->work(); });
  return hasThread;
}

// Runs what is in the list, and what comes meanwhile, on the calling thread.
void TaskQueue::State::drain(std::unique_lock<std::mutex>& lock) {
  if (isDraining) return;  // whoever does comes to it
  isDraining = true;
  const State* outer = std::exchange(stateOfThisThread, this);
  while (first != nullptr) {
    std::unique_ptr<Task> task = take();
    lock.unlock();
    finish(std::move(task));
    lock.lock();
  }
  stateOfThisThread = outer;
  isDraining = false;
  wakeUp.notify_all();
}

TaskQueue::TaskQueue(std::string name) : name_(std::move(name)), state_(new State(name_)) {}

TaskQueue::~TaskQueue() {
  State* state = state_.load(std::memory_order_acquire);
  if (state->generation != forkGeneration()) return;  // the thread stayed in the parent process
  {
    std::unique_lock lock(state->mutex);
    state->isStopping = true;
    state->wakeUp.notify_all();
    if (!isOwnThread()) state->wakeUp.wait(lock, [&] { return !state->isDraining; });
  }
  if (isOwnThread()) {
    state->thread.detach();
  } else {
    state->thread.join();
  }
  state->dropReference();
}

TaskQueue::State& TaskQueue::state() const {
  State* state = state_.load(std::memory_order_acquire);
  if (state->generation == forkGeneration()) return *state;
  // In a child: the old state's mutex may be locked for ever, so it is left behind.
  auto* fresh = new State(name_);
  if (!state_.compare_exchange_strong(state, fresh, std::memory_order_acq_rel)) {
    fresh->dropReference();
    return *state;
  }
  return *fresh;
}

void TaskQueue::push(std::unique_ptr<Task> task) {
  State& state = this->state();
  state.unfinished.fetch_add(1, std::memory_order_relaxed);
  numUnfinished.fetch_add(1, std::memory_order_relaxed);
  // Tasks that run here may destroy the queue.
  Ref<State> keep(&state);
  std::unique_lock lock(state.mutex);
  Task* added = task.release();
  added->next = nullptr;
  (state.last != nullptr ? state.last->next : state.first) = added;
  state.last = added;
  state.waiting.fetch_add(1, std::memory_order_relaxed);
  if (!state.startThread()) {
    state.drain(lock);
  } else if (state.isSleeping) {
    state.wakeUp.notify_one();
  }
}

bool TaskQueue::startThread() {
  State& state = this->state();
  std::lock_guard lock(state.mutex);
  return state.startThread();
}

bool TaskQueue::isIdle() const { return state().unfinished.load(std::memory_order_acquire) == 0; }

bool TaskQueue::isOwnThread() const { return stateOfThisThread == &state(); }

bool TaskQueue::isQueueThread() { return stateOfThisThread != nullptr || isMarkedThread; }

void TaskQueue::markQueueThread() { isMarkedThread = true; }

}  // namespace isthmus
