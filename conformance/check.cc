#include "conformance/check.h"

#include <algorithm>

#include "conformance/op_cases.h"

namespace isthmus::conformance {
namespace {

std::vector<Check>& registered() {
  static std::vector<Check> checks;
  return checks;
}

}  // namespace

CheckRegistration::CheckRegistration(const char* name, Grade grade, const char* rule,
                                     void (*run)(Session&, const Check&)) {
  registered().push_back({name, grade, rule, run});
}

std::vector<Check> allChecks() {
  std::vector<Check> checks = registered();
  std::vector<Check> ops = opChecks();
  checks.insert(checks.end(), ops.begin(), ops.end());
  std::stable_sort(checks.begin(), checks.end(),
                   [](const Check& a, const Check& b) { return a.grade < b.grade; });
  return checks;
}

}  // namespace isthmus::conformance
