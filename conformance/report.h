// What a run found, for people and for machines.
#pragma once

#include <string>
#include <vector>

#include "conformance/runner.h"

namespace isthmus::conformance {

// "4 complete".
std::string describeGrade(int grade);

// A failure in a few lines; one line for what passed or was skipped.
std::string toText(const Result& result);

// The end of the text report: counts, the grade, and what keeps the plugin from the next one.
std::string summary(const std::vector<Result>& results);

// JUnit's XML.
std::string toJunit(const std::vector<Result>& results, const std::string& plugin);

// One page without references to others: grade, failures with their programs, and the matrix of
// operations and types.
std::string toHtml(const std::vector<Result>& results, const std::string& plugin);

// Writes DIR/CHECK.mlir (the program) and DIR/CHECK.c (the calls) for each failure. False if a file
// cannot be written.
bool writeRepros(const std::vector<Result>& results, const std::string& folder);

}  // namespace isthmus::conformance
