// The error for want of host memory, which needs none itself.
#pragma once

#include "isthmus/status.h"

namespace isthmus {

// kResourceExhausted; a copy of one that was made when the library was loaded.
Status outOfHostMemory() noexcept;

}  // namespace isthmus
