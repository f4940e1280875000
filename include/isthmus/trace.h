// Events on a time line: what a profile of a program shows.
//
// Nothing is recorded, and nothing costs more than one relaxed load, until a profiler starts a
// recording (base/trace/recorder.h). All functions may be called from any thread and none blocks
// for longer than it takes to append to a list.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace isthmus::trace {

// What all occurrences of an event have in common. Empty and zero fields are left out.
struct EventInfo {
  std::string name = {};      // "train.py:41 dot_general"
  std::string op = {};        // "dot_general", "fusion"
  std::string category = {};  // "loop fusion", "custom call"
  std::string module = {};    // "jit_train_step"
  std::string source = {};    // "/home/me/train.py:41"
  std::string stack = {};     // every source line that is part of it, one to a line
  std::string scope = {};     // the framework's name: "jit(train_step)/jit(main)/dot_general"
  double flops = 0;           // of one occurrence
  double bytes = 0;           // read and written by one occurrence
};

// The line of the timeline that an event is drawn on.
enum class Track : uint8_t {
  kHost,  // a thread of the host
  kRun,   // a device: one execution of a program
  kStep,  // a device: a kernel or a library call of an execution
};

// One occurrence.
struct Event {
  const EventInfo* info = nullptr;  // lives until the recording is given up: see `record`
  int64_t beginNs = 0;              // of `now`
  int64_t endNs = 0;
  int64_t run = 0;    // the execution that a kRun or kStep belongs to
  int64_t bytes = 0;  // moved by this occurrence, where it varies; 0: not said
  int32_t device = 0;
  Track track = Track::kHost;
};

namespace internal {
inline std::atomic<bool> isOn{false};
}

// Whether events are wanted. A caller that found true may still record after the end: that is
// ignored.
inline bool isOn() { return internal::isOn.load(std::memory_order_relaxed); }

// Nanoseconds of a steady clock.
int64_t now();

// A number that no other execution of the process has.
int64_t nextRun();

// Appends to the calling thread's list. The events' infos are parts of `owner`, which lives as long
// as the recording that the events came to; without an owner they outlive every recording.
void record(std::span<const Event> events, const std::shared_ptr<const void>& owner = nullptr);
inline void record(const Event& event, const std::shared_ptr<const void>& owner = nullptr) {
  record(std::span(&event, 1), owner);
}

// Records the time between its construction and its destruction as an event of the calling thread.
class Scope {
 public:
  // `name`, or `name` and a space and `detail`. Both must live as long as the scope.
  explicit Scope(std::string_view name, std::string_view detail = {}, int64_t bytes = 0)
      : name_(name), detail_(detail), bytes_(bytes), beginNs_(isOn() ? now() : -1) {}
  ~Scope() {
    if (beginNs_ >= 0) finish();
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void finish();

  std::string_view name_;
  std::string_view detail_;
  int64_t bytes_;
  int64_t beginNs_;
};

}  // namespace isthmus::trace
