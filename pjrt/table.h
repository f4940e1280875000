// The function table that the plugin exports.
#pragma once

#include "isthmus/pjrt_c_api.h"

namespace isthmus::pjrt {

// Filled on first use; never changes, lives as long as the process. Safe from any thread.
const PJRT_Api* pjrtApi();

}  // namespace isthmus::pjrt
