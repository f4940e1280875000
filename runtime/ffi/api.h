// The table of functions that handlers call.
#pragma once

#include "isthmus/xla_ffi_c_api.h"

namespace isthmus::ffi {

const XLA_FFI_Api& api();

}  // namespace isthmus::ffi
