// The programs on devices that work beside the host, in any order that is legal.
#include "backends/simulated/backend.h"
#include "pjrt/testing/programs_testing.h"

isthmus::Backend& isthmus::linkedBackend() {
  static auto& backend = *new simulated::SimulatedBackend(testing::programsBackend());
  return backend;
}
