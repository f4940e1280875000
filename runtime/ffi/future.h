// The end of a handler's asynchronous work.
#pragma once

#include <condition_variable>
#include <mutex>

#include "isthmus/status.h"
#include "isthmus/xla_ffi_c_api.h"

// Made by a handler, completed by it once, and destroyed by the run that waits for it.
struct XLA_FFI_Future {
 public:
  void complete(isthmus::Status status) {
    std::lock_guard lock(mutex_);
    status_ = std::move(status);
    isDone_ = true;
    // Under the lock: whoever waits may destroy this as soon as it has it.
    done_.notify_all();
  }

  isthmus::Status wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return isDone_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  isthmus::Status status_;
  bool isDone_ = false;
};
