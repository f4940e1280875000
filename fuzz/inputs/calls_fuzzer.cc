// Sequences of calls of the C API over two devices, compared with a model of what is legal.
#include "fuzz/inputs/call_sequence.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace isthmus::fuzz;
  static World* world = new World;
  if (CallSequence(*world, data, size).run()) {
    delete world;
    world = new World;
  }
  return 0;
}
