// Sequences of calls of the C API over two devices, compared with a model of what is legal.
#include "fuzz/inputs/call_sequence.h"

#include <cstdlib>

// Launches run in the order in which they become able to, so that the program that waits may stand
// before any number of others, and with more than ISTHMUS_MAX_IN_FLIGHT the caller waits for 5 s. A
// sequence is too short for this many.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("ISTHMUS_MAX_IN_FLIGHT", "4096", 1);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace isthmus::fuzz;
  static World* world = new World;
  if (CallSequence(*world, data, size).run()) {
    delete world;
    world = new World;
  }
  return 0;
}
