// A loaded program of a device whose host enqueues steps: what is the same whatever the device is.
#pragma once

#include <memory>
#include <mutex>

#include "backends/shared/staging/host_functions.h"
#include "backends/shared/staging/staged_program.h"
#include "base/program/program_steps.h"
#include "isthmus/backend.h"
#include "isthmus/status.h"

namespace isthmus {

class StagedExecutable : public Executable {
 public:
  const ProgramInfo& info() const final { return program().info; }
  size_t scratchBytes() const override { return static_cast<size_t>(program().scratchBytes); }
  bool callsUserCode() const final { return program().host.callsUserCode; }
  bool mayBlock() const final { return callsUserCode() || meetsOthers(); }

 protected:
  bool meetsOthers() const { return !program().info.exchanges.empty(); }
  // The same during the object's life.
  virtual const StagedProgram& program() const = 0;
  // Before the first run. Null: the program has none.
  Status loadHostFunctions(const HostFunctionProvider* host);
  const HostFunctions* hostFunctions() const { return hostFunctions_.get(); }
  // Of the program's steps, for a profile; from any thread.
  std::shared_ptr<const ProgramEvents> profiledEvents() const;
  // kInternal unless there are as many parameters and results as the program has.
  Status checkCounts(const RunRequest& request) const;

 private:
  std::unique_ptr<HostFunctions> hostFunctions_;
  mutable std::once_flag eventsOnce_;
  mutable std::shared_ptr<const ProgramEvents> events_;  // made by the first run that is profiled
};

}  // namespace isthmus
