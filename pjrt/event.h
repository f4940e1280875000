// PJRT_Event: a handle of a runtime event.
#pragma once

#include "isthmus/pjrt_c_api.h"
#include "runtime/event.h"

namespace isthmus::pjrt {

// A handle that the caller must destroy. Costs no allocation for an event that is ready and good.
PJRT_Event* toHandle(Event event);

}  // namespace isthmus::pjrt
