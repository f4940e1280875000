// The framework's key-value store, by which the processes of a job tell each other who they are.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "isthmus/status.h"

namespace isthmus {

// Shared by all processes; values are bytes and never change once they are there. Safe from any
// thread. Slow: each call is a message to another machine.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  // Blocks until the key has a value; an error after `timeout`.
  virtual StatusOr<std::string> get(const std::string& key, std::chrono::milliseconds timeout) = 0;
  // kNotFound if the key has no value yet.
  virtual StatusOr<std::string> tryGet(const std::string& key) = 0;
  // kAlreadyExists if the key has one.
  virtual Status put(const std::string& key, std::string_view value) = 0;
};

}  // namespace isthmus
