// The shared state of events: a flag, an outcome and a lock-free list of callbacks.
#include "runtime/event.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "runtime/threads/fork_mutex.h"
#include "runtime/threads/spin.h"

namespace isthmus {
namespace internal {
namespace {

// Stands in the list's head once the event has happened: nobody may add to the list any more.
class ClosedMark final : public EventCallback {
 public:
  void run(const Status&) override {}
};
ClosedMark closedMark;

// Only events that wait for the caller take it.
ForkMutex& callersPartMutex() {
  static ForkMutex& mutex = *new ForkMutex;
  return mutex;
}

// Events make each other happen: of a long chain only so many callbacks are on the stack at a time,
// and the others wait until the innermost has returned.
constexpr int kMaxNested = 16;
struct NestedCallbacks {
  int depth = 0;
  EventState* firstPostponed = nullptr;
  EventState* lastPostponed = nullptr;
};
thread_local NestedCallbacks nested;

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
  if (callersPart_ != nullptr) {
    std::vector<Ref<EventState>> parts;
    std::lock_guard lock(callersPartMutex());
    parts.swap(callersPart_->parts);
  }
  EventCallback* latest = callbacks_.exchange(&closedMark, std::memory_order_acq_rel);
  EventCallback* first = nullptr;
  while (latest != nullptr) {
    EventCallback* next = std::exchange(latest->next, first);
    first = std::exchange(latest, next);
  }
  if (first != nullptr) runCallbacks(first);
  return true;
}

void EventState::runCallbacks(EventCallback* first) {
  auto runAll = [](EventState& event, EventCallback* callbacks, auto&& afterEach) {
    while (callbacks != nullptr) {
      std::unique_ptr<EventCallback> callback(std::exchange(callbacks, callbacks->next));
      callback->run(event.status_);
      callback.reset();
      afterEach();
    }
  };
  if (nested.depth == kMaxNested) {
    addReference();
    postponed_ = first;
    (nested.lastPostponed != nullptr ? nested.lastPostponed->nextPostponed_
                                     : nested.firstPostponed) = this;
    nested.lastPostponed = this;
    return;
  }
  struct Depth {
    Depth() { ++nested.depth; }
    ~Depth() { --nested.depth; }
  } depth;
  runAll(*this, first, [&] {
    if (nested.depth != kMaxNested) return;
    while (nested.firstPostponed != nullptr) {
      Ref<EventState> event = Ref<EventState>::adopt(nested.firstPostponed);
      nested.firstPostponed = event->nextPostponed_;
      if (nested.firstPostponed == nullptr) nested.lastPostponed = nullptr;
      runAll(*event, std::exchange(event->postponed_, nullptr), [] {});
    }
  });
}

// A chain of events that hand over to each other has no length that is known, so these walk.
Ref<EventState> EventState::callersPart() {
  if (callersPart_ == nullptr || isReady()) return nullptr;
  std::lock_guard lock(callersPartMutex());
  EventState* event = this;
  while (event->callersPart_ != nullptr && !event->isReady()) {
    CallersPart& part = *event->callersPart_;
    if (part.isWhole) return Ref<EventState>(event);
    if (part.parts.empty()) return nullptr;
    event = part.parts.front().get();
  }
  return nullptr;
}

// With the mutex held.
bool EventState::waitsFor(const EventState* event) {
  std::vector<EventState*> open = {this};
  std::unordered_set<EventState*> seen;
  while (!open.empty()) {
    EventState* next = open.back();
    open.pop_back();
    if (next == event) return true;
    if (next->callersPart_ == nullptr || next->isReady() || !seen.insert(next).second) continue;
    for (Ref<EventState>& part : next->callersPart_->parts) open.push_back(part.get());
  }
  return false;
}

bool EventState::handOver(EventState* next) {
  std::lock_guard lock(callersPartMutex());
  if (next != nullptr && next->waitsFor(this)) return false;
  callersPart_->isWhole = false;
  if (next != nullptr && next->callersPart_ != nullptr && !next->isReady()) {
    callersPart_->parts.emplace_back(next);
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

Event Event::callersPart() const { return state_ ? Event(state_->callersPart()) : Event(); }

Promise Promise::after(const Event& cause) {
  using internal::EventState;
  Event part = cause.callersPart();
  if (part.isReady()) return Promise();
  auto waits = std::make_unique<EventState::CallersPart>();
  waits->parts.push_back(part.state_);
  return Promise(makeRef<EventState>(std::move(waits)));
}

Promise Promise::ofCaller() {
  using internal::EventState;
  return Promise(makeRef<EventState>(
      std::make_unique<EventState::CallersPart>(EventState::CallersPart{true, {}})));
}

namespace {

// Makes `promise` happen when all of `events` have.
void join(std::span<const Event> events, const Promise& promise) {
  // The events hold this by their callbacks, so it must not hold them.
  struct Join {
    std::vector<Status> outcomes;
    std::atomic<size_t> missing;
    Promise promise;
    void arrive(size_t index, const Status& status) {
      outcomes[index] = status;
      if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      Status first;
      for (Status& outcome : outcomes) {
        if (first.ok()) first = std::move(outcome);
      }
      promise.set(std::move(first));
    }
  };
  auto join = std::make_shared<Join>();
  join->outcomes.resize(events.size());
  join->missing.store(events.size(), std::memory_order_relaxed);
  join->promise = promise;
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].onReady([join, i](const Status& status) { join->arrive(i, status); });
  }
}

}  // namespace

Event whenAll(std::span<const Event> events) {
  bool isPending = false, hasError = false;
  for (const Event& event : events) {
    if (!event.isReady()) {
      isPending = true;
    } else if (!event.status().ok()) {
      hasError = true;
    }
  }
  if (!isPending && !hasError) return Event();
  Promise promise = Promise::after(callersPart(events));
  join(events, promise);
  return promise.event();
}

Event callersPart(std::span<const Event> events) {
  using internal::EventState;
  std::vector<Ref<EventState>> parts;
  for (const Event& event : events) {
    if (!event.state_) continue;
    if (Ref<EventState> part = event.state_->callersPart()) parts.push_back(std::move(part));
  }
  auto before = [](const auto& a, const auto& b) { return std::less<>()(a.get(), b.get()); };
  std::sort(parts.begin(), parts.end(), before);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  if (parts.empty()) return Event();
  if (parts.size() == 1) return Event(parts[0]);
  std::vector<Event> all;
  for (const Ref<EventState>& part : parts) all.push_back(Event(part));
  auto whole = std::make_unique<EventState::CallersPart>();
  whole->isWhole = true;
  whole->parts = std::move(parts);
  Promise promise(makeRef<EventState>(std::move(whole)));
  join(all, promise);
  return promise.event();
}

}  // namespace isthmus
