// Programs of one operation each, with arguments and the results of the reference evaluator.
#pragma once

#include <string>
#include <vector>

#include "conformance/check.h"
#include "conformance/values.h"

namespace isthmus::conformance {

struct OpCase {
  std::string op;     // "add"
  std::string name;   // what is special about the case
  std::string types;  // "f32": of what the operation computes with
  Tolerance tolerance;
  std::string program;
  bool captures = false;  // a function for elements (a reducer, say) reads values from outside
  std::vector<HostArray> arguments;
  std::vector<HostArray> results;
};

// Those that are built in (written by tools/write_op_cases at build time).
const std::vector<OpCase>& opCases();

// Reads the format that write_op_cases writes. Throws std::runtime_error on anything else.
std::vector<OpCase> parseOpCases(std::string_view text);

// A check for each case.
std::vector<Check> opChecks();

}  // namespace isthmus::conformance
