// Runs checks in a process of their own, so that a plugin that crashes or hangs fails one check and
// no more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conformance/check.h"
#include "conformance/client_options.h"

namespace isthmus::conformance {

enum class Verdict { kPass, kFail, kSkip, kCrash, kHang };

struct Result {
  const Check* check = nullptr;
  Verdict verdict = Verdict::kPass;
  std::string expected;  // of failures
  std::string got;       // of failures, and why a check was skipped
  std::string trace;     // of failures: the calls
  std::string program;   // of failures: the last program compiled
  double seconds = 0;

  bool isFailure() const { return verdict != Verdict::kPass && verdict != Verdict::kSkip; }
};

struct RunSettings {
  std::string plugin;
  std::vector<ClientOption> clientOptions;
  double timeoutSeconds = 60;  // of one check
};

// Results in the order of the checks; `visit` sees each as soon as it is there.
std::vector<Result> runChecks(const std::vector<Check>& checks, const RunSettings& settings,
                              const std::function<void(const Result&)>& visit);

// The grade that the results earn: the highest that was asked about of which no check failed, nor
// of one below; -1 if not even the lowest.
int gradeOf(const std::vector<Result>& results);

}  // namespace isthmus::conformance
