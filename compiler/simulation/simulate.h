// The time, traffic and memory of one run of a partitioned program on a described machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/simulation/machine.h"
#include "isthmus/status.h"

namespace isthmus::simulation {

// A kernel, a library operation or a collective; numbers are of one run of it on one device.
struct Step {
  std::string name;    // "fusion add multiply", "dot_general", "all_reduce"
  std::string source;  // "train.py:12:5", or ""
  double times = 1;    // in a run of the program
  double seconds = 0;
  double flops = 0;
  double bytes = 0;      // read from and written to memory
  double sentBytes = 0;  // to other devices
  std::string bound;     // what it waits for: "compute", "memory", "launch" or a link's name
};

struct Report {
  std::string machine;
  int64_t numDevices = 1;  // that the program runs on
  std::vector<Step> steps;
  // Seconds of a run. Collectives and kernels in turn:
  double synchronousSeconds = 0;
  // Each collective beside the kernels that do not need it, both in the order of the program:
  double overlappedSeconds = 0;
  double kernelSeconds = 0;
  double collectiveSeconds = 0;
  // Of one device, in a run.
  double flops = 0;
  double bytes = 0;
  double sentBytes = 0;
  // Of one device, in bytes.
  int64_t argumentBytes = 0;
  int64_t resultBytes = 0;         // without those that take over an argument's memory
  int64_t temporaryBytes = 0;      // by our memory plan
  int64_t memoryBytes = 0;         // of the machine's device
  std::vector<std::string> notes;  // what had to be assumed
};

// `code` and `format` as PJRT_Client_Compile has them; the number of partitions and replicas is the
// module's (mhlo.num_partitions, mhlo.num_replicas). Devices are numbered replica by replica.
//
// A kernel takes the longest of its arithmetic, its memory traffic and its launch. Loops count as
// often as they run, where that is a constant; else once, and a note says so. Of several branches
// the longest counts. Errors: those of import and of the compiler's stages; kInvalidArgument for a
// program of more devices than the machine has.
StatusOr<Report> simulate(std::string_view code, std::string_view format, const Machine& machine);

// A table for people, the `maxSteps` longest steps in it; a JSON object with all.
std::string toText(const Report& report, size_t maxSteps = 20);
std::string toJson(const Report& report);

}  // namespace isthmus::simulation
