// The cases that write-op-cases writes, for tools that compile them.
#pragma once

#include <string>
#include <vector>

namespace isthmus {

// A program of one operation.
struct OpCase {
  std::string op, type, name, program;
};

// Of a file with "case OP TYPE TOLERANCE NAME", "program N", N bytes, and more lines that are
// skipped, for each. None if there is no such file.
std::vector<OpCase> readOpCases(const std::string& path);

// The same without ends of lines and tabs.
std::string oneLine(std::string text);

}  // namespace isthmus
