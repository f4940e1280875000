// Runs the steps of a device's program from the host: control flow, and operations that the host
// carries out on copies. A backend says how its device copies, waits and launches.
#pragma once

#include <cstdint>
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
  // Both outlive the run.
  StepRunner(const RunRequest& request, const HostFunctions& host)
      : request_(request), host_(host) {}

  Status runSteps(const std::vector<Step>& steps);
  const RunRequest& request() const { return request_; }

  virtual void* addressOf(const Location& place) const = 0;
  // Enqueues a copy between memories of the device.
  virtual Status copy(void* to, const void* from, int64_t bytes) = 0;
  // Enqueues a copy from or to memory of the host.
  virtual Status stage(void* to, const void* from, int64_t bytes) { return copy(to, from, bytes); }
  // Waits for all that was staged, at least.
  virtual Status finish() = 0;
  // Waits until the host may read and write these places where they are, whatever is enqueued.
  // False if it never may: then they are staged.
  virtual StatusOr<bool> lend(const std::vector<void*>& places) { return false; }
  virtual Status launch(const KernelLaunch& launch, const std::vector<void*>& buffers) = 0;
  virtual Status callLibrary(const LibraryCall& call) = 0;
  // False if the host carries the call out; else the device does, and it was enqueued there.
  virtual StatusOr<bool> callOnDevice(const HostCall& call) { return false; }
  virtual Status swap(void* a, void* b, int64_t bytes) = 0;
  // Told, while a profile is recorded, when a call of the host and the copies of its results were
  // under way.
  virtual void onHostCall(const HostCall&, int64_t /*beginNs*/, int64_t /*endNs*/) {}
  // Called after each round of a loop that nobody waits for: hands over what was enqueued, and
  // waits for the device where it is far behind.
  virtual Status keepPace() { return {}; }

 private:
  Status runStep(const KernelLaunch& step);
  Status runStep(const HostCall& step);
  Status runStep(const LibraryCall& step) { return callLibrary(step); }
  Status runStep(const Move& step);
  Status runStep(const Loop& step);
  Status runStep(const Branch& step);
  Status finishAfter(const Status& status);
  // A value that decides what runs next.
  Status read(const Location& from, void* to);

  const RunRequest& request_;
  const HostFunctions& host_;
};

}  // namespace isthmus
