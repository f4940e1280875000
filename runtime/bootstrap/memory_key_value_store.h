// For tests: a key-value store for several clients of one process.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "runtime/bootstrap/key_value_store.h"

namespace isthmus::testing {

class MemoryKeyValueStore final : public KeyValueStore {
 public:
  StatusOr<std::string> get(const std::string& key, std::chrono::milliseconds timeout) override {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [&] { return values_.contains(key); })) {
      return Status(StatusCode::kDeadlineExceeded, "no value of " + key);
    }
    return values_[key];
  }
  StatusOr<std::string> tryGet(const std::string& key) override {
    std::lock_guard lock(mutex_);
    if (!values_.contains(key)) return Status(StatusCode::kNotFound, "no value of " + key);
    return values_[key];
  }
  Status put(const std::string& key, std::string_view value) override {
    std::lock_guard lock(mutex_);
    if (!values_.emplace(key, value).second) {
      return Status(StatusCode::kAlreadyExists, key + " has a value");
    }
    changed_.notify_all();
    return {};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> values_;
};

}  // namespace isthmus::testing
