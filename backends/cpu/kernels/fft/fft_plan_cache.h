// The process's plans of transforms, so that a length is planned once.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace isthmus::cpu {

// At most kMaxPlans plans: a program that transforms more lengths than that starts over. Plans are
// immutable and live for as long as someone uses them. Thread-safe.
template <typename Key, typename Plan, size_t kMaxPlans>
class FftPlanCache {
 public:
  // The plan for `key`, from `make` (which returns a pointer to it) if there is none. Planning is
  // long and may ask for other plans, so it is done without the lock; of two threads that plan the
  // same length at once, one works in vain.
  template <typename Make>
  std::shared_ptr<const Plan> get(const Key& key, const Make& make) {
    {
      std::lock_guard lock(mutex_);
      if (auto found = plans_.find(key); found != plans_.end()) return found->second;
    }
    std::shared_ptr<const Plan> plan = make();
    std::lock_guard lock(mutex_);
    if (plans_.size() >= kMaxPlans) plans_.clear();
    return plans_.emplace(key, std::move(plan)).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::shared_ptr<const Plan>> plans_;
};

}  // namespace isthmus::cpu
