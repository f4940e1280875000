// What a check is, and the list of them all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/session.h"

namespace isthmus::conformance {

// How far a plugin has come. It has a grade if no check of this grade or a lower one fails.
enum class Grade : int {
  kLoads = 0,      // the library loads and makes a client
  kRuns = 1,       // x + 1
  kTrains = 2,     // a multi-layer perceptron learns
  kFramework = 3,  // what JAX does every day: nothing that XLA's own plugin for CPUs gets wrong
  kComplete = 4,   // every op and type, many devices, stress, hostile input
};
inline constexpr int kNumGrades = 5;

struct Check {
  std::string name;  // "buffer.delete_is_final"
  Grade grade;
  std::string rule;  // what the C API asks for, in a sentence
  void (*run)(Session& session, const Check& check);
  size_t index = 0;  // of the case, for checks that are made from data
};

// All checks, in the order in which they run; those of data included.
std::vector<Check> allChecks();

// A check at namespace scope:  ISTHMUS_CHECK(buffer, delete_is_final, kFramework, "…") { s.… }
struct CheckRegistration {
  CheckRegistration(const char* name, Grade grade, const char* rule,
                    void (*run)(Session&, const Check&));
};
#define ISTHMUS_CHECK(family, name, grade, rule)                                                 \
  static void family##_##name(Session& s, const Check& check);                                   \
  static const CheckRegistration family##_##name##_registration(#family "." #name, Grade::grade, \
                                                                rule, &family##_##name);         \
  static void family##_##name([[maybe_unused]] Session& s, [[maybe_unused]] const Check& check)

}  // namespace isthmus::conformance
