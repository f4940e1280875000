// Runs the steps of a device's program from the host: control flow, and operations that the host
// carries out on copies. A backend says where places are, and how its device copies, waits and
// launches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "backends/shared/staging/host_functions.h"
#include "compiler/driver/device_program.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

// One run, on one thread. Steps are enqueued in their order; an error ends the run, and what was
// enqueued before may still be under way.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

 protected:
  // Both outlive the run. Programs without calls of the host need no functions of it.
  StepRunner(const RunRequest& request, const HostFunctions* host)
      : request_(request), host_(host) {}

  Status runSteps(const std::vector<Step>& steps);
  const RunRequest& request() const { return request_; }
  // The place at which a step finds `place`, whose addresses the loops around it swapped.
  Location swapped(const Location& place) const;

  // Enqueues a copy of `to.bytes` bytes between memories of the device.
  virtual Status copy(const Location& to, const Location& from) = 0;
  // The same from or to memory of the host.
  virtual Status fetch(void* to, const Location& from) = 0;
  virtual Status put(const Location& to, const void* from) = 0;
  // Swaps the contents of two places.
  virtual Status swap(const Location& a, const Location& b) = 0;
  // Work that may be under way on the device: whether it is over, or has failed.
  using IsOver = std::function<bool()>;
  struct UnderWay {
    std::vector<IsOver> before;  // what the run waits for, of programs before
    std::vector<IsOver> own;     // what it has enqueued, in an order in which it may end
  };
  // Called where work is timed, before the host waits for the device. Hands over what was enqueued.
  virtual StatusOr<UnderWay> underWay() = 0;
  // Called before the host waits for the device. Where work is timed, waits for all that was
  // enqueued, in time. kDeadlineExceeded if that has not ended: then isLate(), and who waits for
  // the device may wait for ever.
  Status settle();
  bool isLate() const { return isLate_; }
  static bool isTimed();
  // Memory of the host that work which isLate() may still use: for the end of the run.
  std::shared_ptr<const void> takeMemoryInUse() { return std::move(memoryInUse_); }
  // Waits for all that was fetched and put, at least.
  virtual Status finish() = 0;
  virtual Status launch(const KernelLaunch& launch) = 0;
  virtual Status callLibrary(const LibraryCall& call) = 0;
  // The addresses of the call's inputs and outputs for the host, which may read and write there
  // now, whatever is enqueued. Nothing if it never may: then they are copied.
  virtual StatusOr<std::optional<std::vector<void*>>> lend(const HostCall& call) {
    return std::optional<std::vector<void*>>();
  }
  // False if the host carries the call out; else the device does, and it was enqueued there.
  virtual StatusOr<bool> callOnDevice(const HostCall& call) { return false; }
  // Told, while a profile is recorded, when a call of the host and the copies of its results were
  // under way.
  virtual void onHostCall(const HostCall&, int64_t /*beginNs*/, int64_t /*endNs*/) {}
  // Where the host reads the values that decide what runs next, at most kValueBytes each: memory
  // to which the device copies faster than to any other; kept if the copy is late. Null: anywhere.
  virtual std::shared_ptr<void> valueMemory() { return nullptr; }
  static constexpr size_t kValueBytes = sizeof(int64_t);
  // Called after each round of a loop that nobody waits for: hands over what was enqueued, and
  // waits for the device where it is far behind.
  virtual Status keepPace() { return {}; }

 private:
  Status runStep(const KernelLaunch& step) { return launch(step); }
  Status runStep(const HostCall& step);
  Status runStep(const LibraryCall& step) { return callLibrary(step); }
  Status runStep(const Move& step);
  Status runStep(const Loop& step);
  // All of a loop by one function of the host; false if there is none, or it cannot be used.
  StatusOr<bool> runOnHost(const Loop& step);
  Status runRounds(const Loop& step, bool* isSwapped);
  Status runRound(const Loop& step, bool* isSwapped);
  Status runStep(const Branch& step);
  std::shared_ptr<char> stagingMemory(int64_t bytes);
  // Waits for copies that use `memory`.
  Status finishAfter(const Status& status, const std::shared_ptr<const void>& memory);
  // Swaps the addresses of both places of each move, for all that is enqueued from now on; done
  // again, they are where they were.
  void swapAddresses(const std::vector<Move>& places);
  // A value that decides what runs next.
  Status read(const Location& from, void* to);
  Status awaitInTime(const IsOver& isOver, std::chrono::seconds limit);

  const RunRequest& request_;
  const HostFunctions* host_;
  // Of loops around what is enqueued now, the innermost last, whose addresses are swapped.
  std::vector<const std::vector<Move>*> swapped_;
  bool isLate_ = false;
  std::shared_ptr<const void> memoryInUse_;
};

// Where places have addresses, of which the device copies.
class AddressStepRunner : public StepRunner {
 protected:
  using StepRunner::StepRunner;

  // Where a place is at the beginning of the run.
  virtual void* ownAddressOf(const Location& place) const = 0;
  // Where it is now.
  void* addressOf(const Location& place) const { return ownAddressOf(swapped(place)); }
  std::vector<void*> addressesOf(const std::vector<Location>& places) const {
    std::vector<void*> addresses;
    addresses.reserve(places.size());
    for (const Location& place : places) addresses.push_back(addressOf(place));
    return addresses;
  }
  // Enqueues a copy between memories of the device.
  virtual Status copyMemory(void* to, const void* from, int64_t bytes) = 0;
  // Enqueues a copy from or to memory of the host, which goes after finish().
  virtual Status stage(void* to, const void* from, int64_t bytes) {
    return copyMemory(to, from, bytes);
  }

  Status copy(const Location& to, const Location& from) final {
    return copyMemory(addressOf(to), addressOf(from), to.bytes);
  }
  Status fetch(void* to, const Location& from) final {
    return stage(to, addressOf(from), from.bytes);
  }
  Status put(const Location& to, const void* from) final {
    return stage(addressOf(to), from, to.bytes);
  }
};

}  // namespace isthmus
