// The one symbol that a plugin exports.
#include "pjrt/table.h"

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  return isthmus::pjrt::pjrtApi();
}
