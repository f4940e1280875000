#include "backends/cpu/load/custom_call_functions.h"

namespace isthmus::cpu {

extern "C" int32_t isthmus_rt_custom_call(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers) {
  auto index = static_cast<size_t>(static_cast<const CustomCallDescriptor*>(descriptor)->callSite);
  if (index >= run->callSites->size()) {
    return fail(run, internalError("the program has no custom call ", index));
  }
  const RunRequest& request = *run->request;
  ffi::CallSite::Launch launch{run->services, request.userData, request.deviceId, request.launchId};
  Status status = (*run->callSites)[index]->call(launch, buffers);
  return status.ok() ? 0 : fail(run, std::move(status));
}

}  // namespace isthmus::cpu
