// A device of a client: its description, its memories and the queue that runs its programs.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isthmus/backend.h"
#include "runtime/event.h"
#include "runtime/executable/caller_habit.h"
#include "runtime/memory/memory.h"
#include "runtime/threads/fork_mutex.h"
#include "runtime/threads/task_queue.h"

namespace isthmus {

// Owned by the client, lives as long as it. Safe from any thread.
class Device {
 public:
  Device(Client& client, DeviceDescription description, bool isAddressable);

  Client& client() const { return client_; }
  int id() const { return description_.id; }
  // -1 for a device of another process.
  int localHardwareId() const { return isAddressable_ ? description_.localHardwareId : -1; }
  bool isAddressable() const { return isAddressable_; }
  const DeviceDescription& description() const { return description_; }

  // Empty, and no default, for a device of another process.
  std::span<Memory* const> memories() const { return memories_; }
  Memory* defaultMemory() const { return defaultMemory_; }
  // Null if the device has no memory of that kind.
  Memory* findMemory(std::string_view kind) const;
  // Of all the memories of the device together.
  MemoryStats memoryStats() const;
  void clearMemoryStats();

  // Runs the programs of this device, in the order in which they became able to run.
  TaskQueue& queue() { return queue_; }

  // Of launches that are not cheap, or whose programs are computed by threads that wait for them.
  CallerHabit& callerHabit() { return callerHabit_; }

  // ---- On asynchronous devices ----

  // Each lane tells the ends of its work in the order in which it was handed over, but for work
  // that is over by then, whose end is told at once.
  enum class Lane { kLaunches, kFromHost, kToHost };
  // Calls `then` with the outcome of `event` (null: done), on a thread of the runtime's, or here
  // and now if it is ready. `what` it is the end of is for errors: work that takes longer than
  // ISTHMUS_DEVICE_TIMEOUT_SECONDS fails, and the device is given up; what it waits for, `after`,
  // takes its own time. `then`, which keeps what the
  // work uses and with that the client, is kept until the event is ready all the same.
  void whenDone(Lane lane, DeviceEventRef event, std::string what, std::function<void(Status)> then,
                std::vector<DeviceEventRef> after = {});
  // Whether work may be told to have failed while the device still does it: then it must not use
  // memory that the caller has back with the error.
  static bool mayGiveUp();
  // kUnavailable once the device has been given up.
  Status givenUp() const;
  // Whether calls of the backend that wait for the device are timed: on synchronous devices with
  // memory of their own.
  bool isTimed() const;
  // Calls `work`, and returns what it does. Where work is timed, that happens on another thread,
  // and the device is given up as by `whenDone` if it takes too long: then `work`, and with it the
  // client, is kept until it returns. It must own what it uses, but for memory of the device.
  Status inTime(std::string what, std::function<Status()> work);

  // Makes a launch with this id that has been queued here but has not started fail with `error`.
  // False if there is none.
  bool poisonExecution(int64_t launchId, const Status& error);

  // Called with the end of each queued launch: blocks the caller while more than
  // ISTHMUS_MAX_IN_FLIGHT of them are not done, so that a program that never waits does not fill
  // the memory with arguments. Gives up after `kPatience` without progress (then it is false), and
  // does not block again until there is some: the launches may wait for others in a collective that
  // the caller has yet to launch. Does not block a program's own thread. Not for launches whose
  // arguments wait for the caller: Client::admitForCaller.
  static constexpr std::chrono::milliseconds kPatience{5000};
  bool throttle(Event done, std::chrono::milliseconds patience = kPatience);

  // Programs that call user code run side by side, on threads of their own; frameworks that wait
  // for the last one's end mean that of all. Happens when `done` has, with its outcome, and so have
  // the `done` of the calls before.
  Event inOrder(Event done);

  // ---- For the runtime: the launches that wait in the queue or for their arguments ----

  // One of them; on the launch's side it is taken out before the program runs.
  struct PendingLaunch {
    int64_t launchId = 0;
    Status poison;
    PendingLaunch* previous = nullptr;
    PendingLaunch* next = nullptr;
  };
  void addPending(PendingLaunch& launch);
  // Returns its poison, or OK.
  Status removePending(PendingLaunch& launch);

 private:
  friend class Client;
  // Whether all of them are ready before that time, and before the device is given up.
  bool areReadyBy(DeviceEvents events, std::chrono::steady_clock::time_point deadline) const;
  Status awaitInTime(const DeviceEventRef& event, const std::string& what, DeviceEvents after);
  Status giveUp(const std::string& what, const std::string& underWay, std::chrono::seconds limit);
  void keepUntilReady(DeviceEventRef event, std::function<void(Status)> then);

  Client& client_;
  DeviceDescription description_;
  bool isAddressable_;
  std::vector<Memory*> memories_;
  Memory* defaultMemory_ = nullptr;
  TaskQueue queue_;
  CallerHabit callerHabit_;
  TaskQueue lanes_[3];
  TaskQueue givenUpWork_;  // waits for what was told to take too long
  std::atomic<bool> isGivenUp_{false};
  ForkMutex inFlightMutex_;
  struct InFlight {
    Event done;
    bool isOld = false;  // had happened when the last wait ended without progress
  };
  std::vector<InFlight> inFlight_;  // a ring: the oldest is at `oldest_`
  size_t oldest_ = 0;
  bool isStuck_ = false;  // the last wait ended without progress, and none has been seen since
  ForkMutex userCodeMutex_{ForkMutex::Rank::kMiddle};
  Event userCode_;                   // what the last call of `inOrder` returned
  uint32_t userCodeGeneration_ = 0;  // of forks, at that time
  ForkMutex pendingMutex_;
  PendingLaunch* firstPending_ = nullptr;
};

}  // namespace isthmus
