// An in-order queue of tasks with one thread, started when the first task comes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace isthmus {

// One thing to run; the nodes of the queue's list.
class Task {
 public:
  virtual ~Task() = default;
  virtual void run() = 0;
  Task* next = nullptr;
};

// Any thread may push. A child process made by fork() starts a thread of its own at its first push;
// tasks that were waiting in the parent are not run in the child. The destructor waits for the
// tasks that were pushed, unless it runs on the queue's own thread.
class TaskQueue {
 public:
  explicit TaskQueue(std::string name);
  ~TaskQueue();
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  // Runs the task on the calling thread, after those that wait, if no thread can be started.
  void push(std::unique_ptr<Task> task);
  template <typename F>
    requires(std::is_invocable_v<F&>)
  void push(F function) {
    struct FunctionTask final : Task {
      explicit FunctionTask(F f) : function(std::move(f)) {}
      void run() override { function(); }
      F function;
    };
    push(std::unique_ptr<Task>(std::make_unique<FunctionTask>(std::move(function))));
  }

  // Starts the queue's thread unless it runs. False if it cannot be started now.
  bool startThread();

  // True if nothing is waiting or running; a snapshot.
  bool isIdle() const;
  // True on the thread that runs this queue's tasks.
  bool isOwnThread() const;
  // True on the thread of any queue, and on others that run programs.
  static bool isQueueThread();
  // Makes the calling thread one of those, for good.
  static void markQueueThread();

  struct State;

 private:
  State& state() const;
  std::string name_;
  mutable std::atomic<State*> state_;
};

}  // namespace isthmus
