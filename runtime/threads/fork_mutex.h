// Mutexes that children made by fork() find free, and what they guard whole.
#pragma once

#include <mutex>

namespace isthmus {

// fork() waits until nobody holds one. Who holds one may take another of a higher rank only, may
// neither make nor destroy one, and must not fork.
class ForkMutex {
 public:
  enum class Rank { kOuter, kMiddle, kLeaf };
  explicit ForkMutex(Rank rank = Rank::kLeaf);
  ~ForkMutex();
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct ForkMutexes;
  std::mutex mutex_;
  const Rank rank_;
  // Of the list of all with this rank.
  ForkMutex* previous_ = nullptr;
  ForkMutex* next_ = nullptr;
};

}  // namespace isthmus
