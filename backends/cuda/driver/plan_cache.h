// What libraries said of products and convolutions before: the compiler asks several times of each,
// a program that is loaded once more, and programs are alike.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "isthmus/status.h"

namespace isthmus::cuda {

// Plans, or that there are none, by what they are for. Thread-safe.
template <typename Key, typename Plan>
class PlanCache {
 public:
  using Made = StatusOr<std::shared_ptr<const Plan>>;

  // What `make` returned for this key earlier, or does now; meanwhile others may ask. Of errors
  // only kUnimplemented is kept: others may not come again.
  template <typename Make>
  Made find(const Key& key, const Make& make) {
    {
      std::lock_guard lock(mutex_);
      if (auto it = known_.find(key); it != known_.end()) return it->second;
    }
    Made made = make();
    if (made.ok() || made.status().code() == StatusCode::kUnimplemented) {
      std::lock_guard lock(mutex_);
      if (known_.size() >= kMaxKnown) known_.clear();
      // Who asked at the same time has the same one.
      return known_.emplace(key, made).first->second;
    }
    return made;
  }

 private:
  // More than the programs of a process have of different ones; a plan has about a KiB.
  static constexpr size_t kMaxKnown = 4096;

  std::mutex mutex_;
  std::map<Key, Made> known_;
};

}  // namespace isthmus::cuda
