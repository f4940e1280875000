// A recording as a serialized tensorflow.profiler.XSpace: planes of lines of events.
//
// Each device is a plane "/device:CUSTOM:ISTHMUS:<id>" with the lines "XLA Modules" (executions of
// programs) and "XLA Ops" (their kernels); the prefix is the one under which trace viewers show
// devices that are neither GPU nor TPU. The host's threads are lines of "/host:CPU", where the
// framework puts its own events of the same threads.
#pragma once

#include <string>

#include "base/trace/recorder.h"

namespace isthmus::trace {

struct XSpaceOptions {
  bool hasDevices = true;
  bool hasHost = true;
};

// An empty string if there are no events.
std::string toXSpace(const Recording& recording, const XSpaceOptions& options = {});

}  // namespace isthmus::trace
