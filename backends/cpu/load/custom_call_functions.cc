#include "backends/cpu/load/custom_call_functions.h"

#include "backends/cpu/load/blas_threads.h"

namespace isthmus::cpu {
namespace {

bool hasSeveralDevices(const RunRequest& request) {
  return request.assignment != nullptr && request.assignment->deviceIds.size() > 1;
}

// Tells the devices that meet this one what keeps it.
class Announcement {
 public:
  Announcement(const RunRequest& request, RunServices& services, const std::string& what)
      : request_(request), services_(services), isShared_(hasSeveralDevices(request)) {
    if (isShared_) tell(what.c_str());
  }
  ~Announcement() {
    if (isShared_) tell(nullptr);
  }

 private:
  void tell(const char* what) {
    services_.collectives().announce(request_.launchId, request_.deviceId, what);
  }

  const RunRequest& request_;
  RunServices& services_;
  const bool isShared_;
};

}  // namespace

extern "C" int32_t isthmus_rt_custom_call(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers) {
  auto index = static_cast<size_t>(static_cast<const CustomCallDescriptor*>(descriptor)->callSite);
  if (index >= run->callSites->size()) {
    return fail(run, internalError("the program has no custom call ", index));
  }
  const RunRequest& request = *run->request;
  ffi::CallSite::Launch launch{run->services, request.userData, request.deviceId, request.launchId};
  ffi::CallSite& site = *(*run->callSites)[index];
  Announcement announcement(request, *run->services, site.spec().description);
  OneBlasThread oneThread(site.spec().target.starts_with("lapack_") && hasSeveralDevices(request));
  Status status = site.call(launch, buffers);
  return status.ok() ? 0 : fail(run, std::move(status));
}

}  // namespace isthmus::cpu
