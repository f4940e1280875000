// The system's OpenCL library, which this one is linked with, but for launches of one kernel, and
// for devices that lack an extension. OCL_ICD_VENDORS names another driver than the system's.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace {

template <typename Function>
Function* original(const char* name) {
  static void* library = dlopen("libOpenCL.so.1", RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}
#define ORIGINAL(name) original<decltype(name)>(#name)

bool isFaulty(cl_kernel kernel) {
  const char* wanted = std::getenv("FAULTY_OPENCL_KERNEL");
  char name[256] = "";
  ORIGINAL(clGetKernelInfo)(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name) - 1, name, nullptr);
  return wanted != nullptr && std::strcmp(name, wanted) == 0;
}

// Used by all threads.
class FailedEvents {
 public:
  void add(cl_event event) {
    std::lock_guard lock(mutex_);
    events_.insert(event);
  }
  bool has(cl_event event) {
    std::lock_guard lock(mutex_);
    return events_.contains(event);
  }

 private:
  std::mutex mutex_;
  std::set<cl_event> events_;
};

FailedEvents& failedEvents() {
  static FailedEvents events;
  return events;
}

}  // namespace

// The next launch of the faulty kernel does not run, which is told on stderr, and its event has
// failed. What waits for it runs, as with drivers that do not look at what their commands wait for.
extern "C" __attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t* offset, const size_t* global, const size_t* local,
                       cl_uint waits, const cl_event* wait_list, cl_event* event) {
  if (!isFaulty(kernel)) {
    return ORIGINAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits,
                                            wait_list, event);
  }
  cl_int code = ORIGINAL(clEnqueueMarkerWithWaitList)(queue, waits, wait_list, event);
  if (code == CL_SUCCESS) code = ORIGINAL(clRetainEvent)(*event);  // no later event is taken for it
  if (code == CL_SUCCESS) failedEvents().add(*event);
  std::fprintf(stderr, "faulty OpenCL: %s\n", std::getenv("FAULTY_OPENCL_KERNEL"));
  setenv("FAULTY_OPENCL_KERNEL", "", 1);
  return code;
}

extern "C" __attribute__((visibility("default"))) cl_int clGetEventInfo(cl_event event,
                                                                        cl_event_info name,
                                                                        size_t bytes, void* value,
                                                                        size_t* needed) {
  cl_int code = ORIGINAL(clGetEventInfo)(event, name, bytes, value, needed);
  if (code == CL_SUCCESS && name == CL_EVENT_COMMAND_EXECUTION_STATUS && value &&
      failedEvents().has(event)) {
    auto* status = static_cast<cl_int*>(value);
    if (*status == CL_COMPLETE) *status = CL_INVALID_KERNEL_ARGS;
  }
  return code;
}

// FAULTY_OPENCL_LACKS is none of the device's extensions.
extern "C" __attribute__((visibility("default"))) cl_int clGetDeviceInfo(cl_device_id device,
                                                                         cl_device_info name,
                                                                         size_t bytes, void* value,
                                                                         size_t* needed) {
  cl_int code = ORIGINAL(clGetDeviceInfo)(device, name, bytes, value, needed);
  const char* lacks = std::getenv("FAULTY_OPENCL_LACKS");
  if (code != CL_SUCCESS || name != CL_DEVICE_EXTENSIONS || !value || !lacks || !*lacks)
    return code;
  char* found = std::strstr(static_cast<char*>(value), lacks);
  if (found != nullptr) std::memset(found, ' ', std::strlen(lacks));
  return code;
}
