#include "backends/cpu/load/custom_call_functions.h"

#include <algorithm>

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

// Whether every matrix (the last two dimensions) is so small that threads of OpenBLAS gain nothing:
// measured, one is as fast up to 256x256. They wait for each other busily, so that where other
// programs want the CPUs, a decomposition of a millisecond took most of a second.
bool hasSmallMatrices(const ffi::CallSpec& spec) {
  constexpr int64_t kElements = 256 * 256;
  return std::all_of(spec.operands.begin(), spec.operands.end(), [](const ArrayType& type) {
    const size_t rank = type.dims.size();
    return rank < 2 || type.dims[rank - 2] * type.dims[rank - 1] <= kElements;
  });
}

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
  const bool hasMatrices = site.spec().target.starts_with("lapack_");
  OneBlasThread oneThread(hasMatrices &&
                          (hasSeveralDevices(request) || hasSmallMatrices(site.spec())));
  Status status = site.call(launch, buffers);
  return status.ok() ? 0 : fail(run, std::move(status));
}

}  // namespace isthmus::cpu
