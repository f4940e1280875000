// A compiled program as plain data: kernels, constants, and the steps that the host enqueues.
#pragma once

#include <string>
#include <vector>

#include "backends/shared/staging/staged_program.h"

namespace isthmus::opencl {

struct ProgramImage : StagedProgram {
  std::string spirv;   // of all kernels, for drivers that take it
  std::string source;  // OpenCL C, for those that do not
  // What a driver made of either, by kind of device; serialized programs have it.
  std::vector<std::string> binaries;
};

}  // namespace isthmus::opencl
