// For tests of the C API: the programs on the host.
#include "pjrt/testing/programs_testing.h"

isthmus::Backend& isthmus::linkedBackend() { return testing::programsBackend(); }
