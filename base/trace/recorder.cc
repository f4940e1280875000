// The list of the session's threads, and each thread's list of events.
#include "base/trace/recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace isthmus::trace {
namespace {

// A thread's events. Its mutex is taken by others only when the recording ends.
struct Log {
  std::mutex mutex;
  bool isOpen = true;
  ThreadEvents events;
  // What the events point into. It is kept here, since the session may change between any two
  // calls.
  std::unordered_set<const void*> kept;
  std::vector<std::shared_ptr<const void>> owners;
  std::unordered_map<std::string, const EventInfo*> names;  // infos that are but a name
};

struct Session {
  explicit Session(int64_t maxEvents) : room(maxEvents) {}

  std::atomic<int64_t> room;  // events that still fit; negative once some were dropped
  std::atomic<int64_t> dropped{0};
  std::mutex mutex;
  Recording recording;  // times; the rest is added when it is taken
  std::vector<std::shared_ptr<Log>> logs;
};

struct State {
  std::mutex mutex;
  std::shared_ptr<Session> session;  // going on, or not taken yet
  bool isRunning = false;
};

State& state() {
  static State& only = *new State;
  return only;
}

// Counts recordings, so that a thread sees by one load that its list is of an older one.
std::atomic<uint64_t> generation{0};

struct ThreadState {
  uint64_t generation = 0;
  std::shared_ptr<Session> session;
  std::shared_ptr<Log> log;
};

std::shared_ptr<Session> runningSession() {
  std::lock_guard lock(state().mutex);
  return state().isRunning ? state().session : nullptr;
}

// The calling thread's list in the recording that is going on; null if there is none.
ThreadState* threadState() {
  thread_local ThreadState local;
  uint64_t current = generation.load(std::memory_order_acquire);
  if (local.generation == current && local.log) return &local;
  std::shared_ptr<Session> session = runningSession();
  if (!session) return nullptr;
  auto log = std::make_shared<Log>();
  log->events.threadId = syscall(SYS_gettid);
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  log->events.threadName = name;
  {
    std::lock_guard lock(session->mutex);
    session->logs.push_back(log);
  }
  local = {current, std::move(session), std::move(log)};
  return &local;
}

// Whether so many events more still fit; counted as dropped if not.
bool takeRoom(Session& session, int64_t count) {
  if (session.room.fetch_sub(count, std::memory_order_relaxed) >= count) return true;
  session.room.fetch_add(count, std::memory_order_relaxed);
  session.dropped.fetch_add(count, std::memory_order_relaxed);
  return false;
}

// Calls `append(log)` for the calling thread's list if a recording is going on and has room for
// `count` events. What does not fit as a whole is dropped as a whole, so that no execution lacks
// its middle.
template <typename Append>
void withOpenLog(int64_t count, Append&& append) {
  if (!isOn()) return;
  ThreadState* local = threadState();
  if (!local || !takeRoom(*local->session, count)) return;
  Log& log = *local->log;
  std::lock_guard lock(log.mutex);
  if (log.isOpen) append(log);
}

}  // namespace

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t nextRun() {
  static std::atomic<int64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void record(std::span<const Event> events, const std::shared_ptr<const void>& owner) {
  if (events.empty()) return;
  withOpenLog(static_cast<int64_t>(events.size()), [&](Log& log) {
    if (owner && log.kept.insert(owner.get()).second) log.owners.push_back(owner);
    log.events.events.insert(log.events.events.end(), events.begin(), events.end());
  });
}

void Scope::finish() {
  Event event;
  event.endNs = now();
  event.beginNs = beginNs_;
  event.bytes = bytes_;
  std::string name(name_);
  if (!detail_.empty()) name.append(" ").append(detail_);
  withOpenLog(1, [&](Log& log) {
    const EventInfo*& info = log.names[name];
    if (!info) {
      EventInfo made;
      made.name = std::move(name);
      auto owner = std::make_shared<const EventInfo>(std::move(made));
      info = owner.get();
      log.owners.push_back(std::move(owner));
    }
    event.info = info;
    log.events.events.push_back(event);
  });
}

bool start(int64_t maxEvents) {
  std::lock_guard lock(state().mutex);
  if (state().session) return false;
  auto session = std::make_shared<Session>(maxEvents);
  session->recording.beginNs = now();
  session->recording.unixBeginNs = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count();
  state().session = std::move(session);
  state().isRunning = true;
  generation.fetch_add(1, std::memory_order_release);
  internal::isOn.store(true, std::memory_order_relaxed);
  return true;
}

void stop() {
  std::lock_guard lock(state().mutex);
  if (!state().isRunning) return;
  internal::isOn.store(false, std::memory_order_relaxed);
  state().isRunning = false;
  state().session->recording.endNs = now();
}

Recording take() {
  stop();
  std::shared_ptr<Session> session;
  {
    std::lock_guard lock(state().mutex);
    if (state().isRunning) return {};  // another thread has begun the next one
    session = std::move(state().session);
    state().session = nullptr;
  }
  if (!session) return {};
  std::lock_guard lock(session->mutex);
  Recording recording = std::move(session->recording);
  recording.dropped = session->dropped.load(std::memory_order_relaxed);
  for (const std::shared_ptr<Log>& log : session->logs) {
    std::lock_guard logLock(log->mutex);
    log->isOpen = false;
    std::move(log->owners.begin(), log->owners.end(), std::back_inserter(recording.owners));
    log->owners.clear();
    if (!log->events.events.empty()) recording.threads.push_back(std::move(log->events));
  }
  session->logs.clear();
  return recording;
}

}  // namespace isthmus::trace
