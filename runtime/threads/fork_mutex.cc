// The lists of all mutexes, and the handlers that take them around a fork.
#include "runtime/threads/fork_mutex.h"

#include <pthread.h>

#include "runtime/memory/host_allocator.h"

namespace isthmus {

struct ForkMutexes {
  static constexpr int kRanks = 3;
  std::mutex mutex;
  ForkMutex* first[kRanks] = {};

  ForkMutexes() {
    // Handlers run in the opposite order before a fork: those of the allocator, which is used with
    // mutexes held, must come after these.
    hostDeallocate(hostAllocate(1), 1);
    pthread_atfork([] { all().lockAll(); }, [] { all().unlockAll(); }, [] { all().unlockAll(); });
  }
  // Never destroyed, as some mutexes.
  static ForkMutexes& all() {
    static ForkMutexes& instance = *new ForkMutexes;
    return instance;
  }

  template <typename Visit>
  void forEach(Visit visit) {
    for (ForkMutex* at : first) {
      for (; at != nullptr; at = at->next_) visit(*at);
    }
  }
  void lockAll() {
    mutex.lock();
    forEach([](ForkMutex& each) { each.lock(); });
  }
  void unlockAll() {
    forEach([](ForkMutex& each) { each.unlock(); });
    mutex.unlock();
  }

  void add(ForkMutex& added) {
    std::lock_guard lock(mutex);
    ForkMutex*& list = first[static_cast<int>(added.rank_)];
    added.next_ = list;
    if (list != nullptr) list->previous_ = &added;
    list = &added;
  }
  void remove(ForkMutex& removed) {
    std::lock_guard lock(mutex);
    ForkMutex*& list = first[static_cast<int>(removed.rank_)];
    (removed.previous_ != nullptr ? removed.previous_->next_ : list) = removed.next_;
    if (removed.next_ != nullptr) removed.next_->previous_ = removed.previous_;
  }
};

ForkMutex::ForkMutex(Rank rank) : rank_(rank) { ForkMutexes::all().add(*this); }

ForkMutex::~ForkMutex() { ForkMutexes::all().remove(*this); }

}  // namespace isthmus
