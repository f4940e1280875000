// PJRT_ExecuteContext: the runtime's user data under another name.
#pragma once

#include "isthmus/pjrt_c_api.h"
#include "runtime/ffi/user_data.h"

namespace isthmus::pjrt {

inline ffi::LaunchUserData& fromHandle(PJRT_ExecuteContext* context) {
  return *reinterpret_cast<ffi::LaunchUserData*>(context);
}
// Gives the reference to the caller, who destroys it with PJRT_ExecuteContext_Destroy.
inline PJRT_ExecuteContext* toHandle(ffi::LaunchUserData* data) {
  return reinterpret_cast<PJRT_ExecuteContext*>(data);
}

}  // namespace isthmus::pjrt
