// What is run while calls fail: a program from its text to its results and back from its bytes.
#pragma once

#include "isthmus/pjrt_c_api.h"

namespace isthmus::faults {

enum class Result {
  kRight,  // every call succeeded, and the numbers are right
  kError,  // a call, an event or a buffer said what went wrong
  kWrong,  // the numbers are wrong, or an error has no message: `scenarioError` says what
};

// A client of two devices; on it a program with a loop, a contraction and a sum over the devices:
// compiled, run, serialised, loaded again and run. Stops at the first error and frees what it made.
// Allocates nothing itself.
Result runScenario(const PJRT_Api& api);

// The message of the last error, or what is wrong.
const char* scenarioError();

}  // namespace isthmus::faults
