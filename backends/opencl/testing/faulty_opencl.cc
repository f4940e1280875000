// The system's OpenCL library, which this one is linked with, but for launches of one kernel, and
// for devices that lack an extension.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

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

}  // namespace

// A faulty kernel does not run, and its event has failed.
extern "C" __attribute__((visibility("default"))) cl_int
clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                       const size_t* offset, const size_t* global, const size_t* local,
                       cl_uint waits, const cl_event* wait_list, cl_event* event) {
  if (!isFaulty(kernel)) {
    return ORIGINAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits,
                                            wait_list, event);
  }
  cl_context context = nullptr;
  ORIGINAL(clGetCommandQueueInfo)(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, nullptr);
  cl_int code = CL_SUCCESS;
  *event = ORIGINAL(clCreateUserEvent)(context, &code);
  if (code != CL_SUCCESS) return code;
  return ORIGINAL(clSetUserEventStatus)(*event, CL_INVALID_KERNEL_ARGS);
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
