// One recording at a time of the process's events: a list per thread, of bounded size in all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/trace.h"

namespace isthmus::trace {

// Beyond this many events the rest of a recording is counted and dropped (64 bytes each).
inline constexpr int64_t kMaxEvents = 2'000'000;

struct ThreadEvents {
  int64_t threadId = 0;         // the kernel's
  std::string threadName = {};  // at the thread's first event
  std::vector<Event> events = {};
};

struct Recording {
  std::vector<ThreadEvents> threads;
  int64_t dropped = 0;
  int64_t beginNs = 0;  // of `now`
  int64_t endNs = 0;
  int64_t unixBeginNs = 0;  // the same moment as beginNs, since 1970
  // What the events' infos are part of.
  std::vector<std::shared_ptr<const void>> owners;
};

// Begins a recording. False if one is going on already, or has not been taken. `maxEvents` is for
// tests.
bool start(int64_t maxEvents = kMaxEvents);

// Ends it; does nothing if none is going on.
void stop();

// What was recorded, which is then forgotten; a recording that is going on is stopped first. Empty
// if there was none.
Recording take();

}  // namespace isthmus::trace
