// The recording of a run: generated code says which step begins (IsthmusRun::beginStep) if somebody
// listens.
#pragma once

#include <memory>

#include "backends/cpu/abi.h"
#include "base/program/program_steps.h"
#include "isthmus/trace.h"

namespace isthmus::cpu {

// One run that is recorded: give `run()` to the program, `finish` when it has returned. On one
// thread.
class TracedRun {
 public:
  TracedRun(std::shared_ptr<const ProgramEvents> events, const RunRequest& request, Status* status,
            const CallSites* callSites);
  ~TracedRun();
  TracedRun(const TracedRun&) = delete;
  TracedRun& operator=(const TracedRun&) = delete;

  IsthmusRun* run();
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace isthmus::cpu
