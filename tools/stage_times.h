// How long each stage of a compilation takes.
#pragma once

#include <iosfwd>

namespace isthmus {

// Records what the process compiles from now on. One recording at a time (base/trace/recorder.h).
void startStageTimes();

// Ends that, and writes a line for each stage that ran, "fuse 1.5 ms", in the order of the table.
void writeStageTimes(std::ostream& out);

}  // namespace isthmus
