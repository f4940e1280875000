// What a profile shows of a program: the names of its steps.
//
// A step is what one operation became: kernels or a library call. Small kernels that became part of
// a loop's code are one step with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/backend.h"
#include "isthmus/trace.h"

namespace isthmus {

// Texts are indices into ProgramSteps::texts.
struct ProgramStep {
  int32_t name = 0;
  int32_t op = 0;
  int32_t category = 0;
  int32_t source = 0;
  int32_t stack = 0;
  int32_t scope = 0;
  double flops = 0;
  double bytes = 0;
};

// Part of the executable, serialized with it.
struct ProgramSteps {
  std::vector<std::string> texts;
  std::vector<ProgramStep> steps;
  // Whether all indices are those of texts; to be checked where bytes come from outside.
  bool isValid() const;
};

// The events of a program, by step; immutable.
struct ProgramEvents {
  trace::EventInfo run;
  std::vector<trace::EventInfo> steps;
};
std::shared_ptr<const ProgramEvents> makeProgramEvents(const ProgramSteps& steps,
                                                       const ProgramInfo& info);

}  // namespace isthmus
