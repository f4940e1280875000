// What a profile shows of one run of a program: when its kernels and calls of the host were.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/program/program_steps.h"
#include "isthmus/trace.h"

namespace isthmus {

class RunProfile {
 public:
  RunProfile(std::shared_ptr<const ProgramEvents> events, int device);

  // A command that is over, by the device's clock. Steps are DeviceProgram::profile's; -1 is none.
  // The launches of one operation are one event, as long as they took together.
  void addCommand(int32_t step, bool continuesOperation, int64_t beginNs, int64_t endNs);
  // By the host's clock, trace::now().
  void addHostCall(int32_t step, int64_t beginNs, int64_t endNs);
  // Hands all to the recorder, with the run, which ends now.
  void record();

 private:
  trace::Event eventOf(int32_t step, int64_t beginNs, int64_t endNs) const;

  std::shared_ptr<const ProgramEvents> events_;
  trace::Event whole_;
  std::vector<trace::Event> commands_;  // by the device's clock
  std::vector<trace::Event> hostCalls_;
  // From the device's clock to the host's: the least by which a command was over before the host
  // saw it. No function that relates the two is in all drivers.
  int64_t shiftNs_ = INT64_MAX;
};

}  // namespace isthmus
