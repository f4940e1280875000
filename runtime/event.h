// Events: something that will have happened, with or without an error.
//
// A handle is one pointer; a null one is an event that has already happened without error, so the
// common case costs nothing. The shared state outlives every handle: registering a callback and
// dropping the event at once is fine.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "isthmus/status.h"
#include "runtime/ref.h"

namespace isthmus {

namespace internal {

// What runs when an event becomes ready; the nodes of a lock-free list.
class EventCallback {
 public:
  virtual ~EventCallback() = default;
  virtual void run(const Status& status) = 0;
  EventCallback* next = nullptr;
};

template <typename F>
class EventCallbackOf final : public EventCallback {
 public:
  explicit EventCallbackOf(F function) : function_(std::move(function)) {}
  void run(const Status& status) override { function_(status); }

 private:
  F function_;
};

class EventState final : public RefCounted<EventState> {
 public:
  // What the caller has yet to do before an event can happen. Guarded by one mutex for all.
  struct CallersPart {
    bool isWhole = false;                // the event is that part itself
    std::vector<Ref<EventState>> parts;  // else the one that has it; of a whole: what it joins
  };

  EventState() = default;
  explicit EventState(Status status);
  explicit EventState(std::unique_ptr<CallersPart> part) : callersPart_(std::move(part)) {}
  ~EventState();

  bool isReady() const { return ready_.load(std::memory_order_acquire) != 0; }
  const Status& status() const { return status_; }
  bool set(Status status);
  void await() const;
  bool awaitUntil(std::chrono::steady_clock::time_point deadline) const;
  // Takes ownership; runs the callback here and now if the event is ready.
  void add(EventCallback* callback);
  // See Event and Promise.
  Ref<EventState> callersPart();
  bool handOver(EventState* next);

 private:
  bool waitsFor(const EventState* event);
  void runCallbacks(EventCallback* first);

  const std::unique_ptr<CallersPart> callersPart_;  // null: nothing, from the start
  EventCallback* postponed_ = nullptr;              // callbacks that the setting thread runs later
  EventState* nextPostponed_ = nullptr;             // of that thread
  std::atomic<uint32_t> claimed_{0};
  mutable std::atomic<uint32_t> ready_{0};
  std::atomic<EventCallback*> callbacks_{nullptr};
  Status status_;
};

}  // namespace internal

// A handle; copies are handles of the same event. All methods are safe from any thread.
class Event {
 public:
  // An event that has happened.
  Event() = default;
  // An event that has happened with `status`.
  static Event of(Status status);

  bool isReady() const { return !state_ || state_->isReady(); }
  // The outcome; only while `isReady()`. The reference lives as long as a handle of the event.
  const Status& status() const;
  // Blocks the calling thread until the event has happened, and returns its outcome.
  Status await() const;
  // False if `deadline` came first.
  bool awaitUntil(std::chrono::steady_clock::time_point deadline) const {
    return !state_ || state_->awaitUntil(deadline);
  }

  // Happens when the caller of the runtime has done what this event still waits for: an alias
  // buffer fulfilled, a transfer completed, an event set. Has happened if what is left comes by
  // itself.
  Event callersPart() const;

  // Calls `callback(const Status&)` exactly once: now, on this thread, if the event has happened
  // (then nothing is allocated), else on the thread that makes it happen, in the order of
  // registration and with no lock of the runtime held. The callback must not block for long.
  template <typename F>
    requires(std::is_invocable_v<F&, const Status&>)
  void onReady(F callback) const {
    if (isReady()) {
      callback(status());
      return;
    }
    state_->add(new internal::EventCallbackOf<F>(std::move(callback)));
  }

 private:
  friend class Promise;
  friend Event whenAll(std::span<const Event> events);
  friend Event callersPart(std::span<const Event> events);
  explicit Event(Ref<internal::EventState> state) : state_(std::move(state)) {}
  Ref<internal::EventState> state_;
};

// The side that makes an event happen. Copies share the event; the first `set` counts.
class Promise {
 public:
  Promise() : state_(makeRef<internal::EventState>()) {}
  // Of an event that does not happen before `cause` has.
  static Promise after(const Event& cause);
  // Of an event that it is up to the caller of the runtime to make happen.
  static Promise ofCaller();
  Event event() const { return Event(state_); }
  // False if the event had already happened; then nothing changes.
  bool set(Status status = {}) const { return state_->set(std::move(status)); }
  bool operator==(const Promise& other) const = default;
  // Of one `ofCaller`: from now on the event happens when `next` does. False, and nothing changes,
  // if `next` itself waits for this event.
  bool handOver(const Event& next) const { return state_->handOver(next.state_.get()); }

 private:
  friend Event callersPart(std::span<const Event> events);
  explicit Promise(Ref<internal::EventState> state) : state_(std::move(state)) {}
  Ref<internal::EventState> state_;
};

// Happens when all of `events` have, with the error of the first (in their order) that failed.
Event whenAll(std::span<const Event> events);

// What the caller has yet to do before all of `events` can have happened.
Event callersPart(std::span<const Event> events);

}  // namespace isthmus
