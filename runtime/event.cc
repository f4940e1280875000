// The shared state of events: a flag, an outcome and a lock-free list of callbacks.
#include "runtime/event.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/spin.h"

namespace isthmus {
namespace internal {
namespace {

// Stands in the list's head once the event has happened: nobody may add to the list any more.
class ClosedMark final : public EventCallback {
 public:
  void run(const Status&) override {}
};
ClosedMark closedMark;

}  // namespace

EventState::EventState(Status status) : claimed_(1), ready_(1), status_(std::move(status)) {
  callbacks_.store(&closedMark, std::memory_order_relaxed);
}

EventState::~EventState() {
  EventCallback* callback = callbacks_.load(std::memory_order_acquire);
  while (callback != nullptr && callback != &closedMark) {
    delete std::exchange(callback, callback->next);
  }
}

bool EventState::set(Status status) {
  if (claimed_.exchange(1, std::memory_order_relaxed) != 0) return false;
  // A callback, or whoever waits, may drop the last handle of the event before this returns.
  Ref<EventState> keep(this);
  status_ = std::move(status);
  ready_.store(1, std::memory_order_release);
  ready_.notify_all();
  EventCallback* latest = callbacks_.exchange(&closedMark, std::memory_order_acq_rel);
  EventCallback* first = nullptr;
  while (latest != nullptr) {
    EventCallback* next = std::exchange(latest->next, first);
    first = std::exchange(latest, next);
  }
  while (first != nullptr) {
    std::unique_ptr<EventCallback> callback(std::exchange(first, first->next));
    callback->run(status_);
  }
  return true;
}

void EventState::await() const {
  if (spinUntil([this] { return isReady(); })) return;
  while (!isReady()) ready_.wait(0, std::memory_order_acquire);
}

bool EventState::awaitUntil(std::chrono::steady_clock::time_point deadline) const {
  if (isReady()) return true;
  struct Signal {
    std::mutex mutex;
    std::condition_variable condition;
    bool isSet = false;
  };
  auto signal = std::make_shared<Signal>();
  auto notify = [signal](const Status&) {
    std::lock_guard lock(signal->mutex);
    signal->isSet = true;
    signal->condition.notify_all();
  };
  const_cast<EventState*>(this)->add(new EventCallbackOf<decltype(notify)>(notify));
  std::unique_lock lock(signal->mutex);
  return signal->condition.wait_until(lock, deadline, [&] { return signal->isSet; });
}

void EventState::add(EventCallback* callback) {
  EventCallback* head = callbacks_.load(std::memory_order_acquire);
  while (head != &closedMark) {
    callback->next = head;
    if (callbacks_.compare_exchange_weak(head, callback, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
      return;
    }
  }
  std::unique_ptr<EventCallback> owned(callback);
  owned->run(status_);
}

}  // namespace internal

Event Event::of(Status status) {
  if (status.ok()) return Event();
  return Event(makeRef<internal::EventState>(std::move(status)));
}

const Status& Event::status() const {
  static const Status& ok = *new Status;
  return state_ ? state_->status() : ok;
}

Status Event::await() const {
  if (state_) state_->await();
  return status();
}

Event whenAll(std::span<const Event> events) {
  std::vector<Event> pending;
  bool hasError = false;
  for (const Event& event : events) {
    if (!event.isReady()) {
      pending.push_back(event);
    } else if (!event.status().ok()) {
      hasError = true;
    }
  }
  if (pending.empty() && !hasError) return Event();

  struct Join {
    std::vector<Event> events;
    std::atomic<size_t> missing;
    Promise promise;
    void arrive() {
      if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      Status first;
      for (const Event& event : events) {
        if (first.ok()) first = event.status();
      }
      promise.set(std::move(first));
    }
  };
  auto join = std::make_shared<Join>();
  join->events.assign(events.begin(), events.end());
  join->missing.store(pending.size() + 1, std::memory_order_relaxed);
  Event result = join->promise.event();
  for (const Event& event : pending) {
    event.onReady([join](const Status&) { join->arrive(); });
  }
  join->arrive();
  return result;
}

}  // namespace isthmus
