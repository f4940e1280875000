#include "backends/opencl/driver/library.h"

#include <dlfcn.h>

namespace isthmus::opencl {
namespace {

struct ErrorName {
  cl_int code;
  const char* name;
};

#define ISTHMUS_OPENCL_ERROR(name) {name, #name}
constexpr ErrorName kErrorNames[] = {
    ISTHMUS_OPENCL_ERROR(CL_DEVICE_NOT_FOUND),
    ISTHMUS_OPENCL_ERROR(CL_DEVICE_NOT_AVAILABLE),
    ISTHMUS_OPENCL_ERROR(CL_COMPILER_NOT_AVAILABLE),
    ISTHMUS_OPENCL_ERROR(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    ISTHMUS_OPENCL_ERROR(CL_OUT_OF_RESOURCES),
    ISTHMUS_OPENCL_ERROR(CL_OUT_OF_HOST_MEMORY),
    ISTHMUS_OPENCL_ERROR(CL_PROFILING_INFO_NOT_AVAILABLE),
    ISTHMUS_OPENCL_ERROR(CL_MEM_COPY_OVERLAP),
    ISTHMUS_OPENCL_ERROR(CL_BUILD_PROGRAM_FAILURE),
    ISTHMUS_OPENCL_ERROR(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    ISTHMUS_OPENCL_ERROR(CL_COMPILE_PROGRAM_FAILURE),
    ISTHMUS_OPENCL_ERROR(CL_LINK_PROGRAM_FAILURE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_VALUE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_DEVICE_TYPE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_PLATFORM),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_DEVICE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_CONTEXT),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_QUEUE_PROPERTIES),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_COMMAND_QUEUE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_MEM_OBJECT),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_BINARY),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_BUILD_OPTIONS),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_PROGRAM),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_PROGRAM_EXECUTABLE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_KERNEL_NAME),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_KERNEL_DEFINITION),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_KERNEL),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_ARG_INDEX),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_ARG_VALUE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_ARG_SIZE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_KERNEL_ARGS),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_WORK_DIMENSION),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_WORK_GROUP_SIZE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_WORK_ITEM_SIZE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_GLOBAL_OFFSET),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_EVENT_WAIT_LIST),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_EVENT),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_OPERATION),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_BUFFER_SIZE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_GLOBAL_WORK_SIZE),
    ISTHMUS_OPENCL_ERROR(CL_INVALID_PROPERTY),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef ISTHMUS_OPENCL_ERROR

}  // namespace

StatusOr<Library> loadLibrary(const std::string& path) {
  // Its own symbols only: two drivers may bring libraries of the same names.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return notFound("no OpenCL library at ", path, ": ", reason ? reason : "unknown error");
  }
  Library library;
  library.path = path;
#define ISTHMUS_OPENCL_FIND(name)                                                    \
  library.name = reinterpret_cast<decltype(&::cl##name)>(dlsym(handle, "cl" #name)); \
  if (!library.name) {                                                               \
    dlclose(handle);                                                                 \
    return notFound("the OpenCL library at ", path,                                  \
                    " has no cl" #name                                               \
                    ": OpenCL 2.1 or newer "                                         \
                    "is needed");                                                    \
  }
  ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_OPENCL_FIND)
#undef ISTHMUS_OPENCL_FIND
  return library;
}

std::string errorName(cl_int code) {
  for (const ErrorName& entry : kErrorNames) {
    if (entry.code == code) return entry.name;
  }
  return "OpenCL error " + std::to_string(code);
}

Status check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return {};
  bool isMemory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                  code == CL_OUT_OF_RESOURCES;
  if (isMemory) return resourceExhausted(call, " failed: ", errorName(code));
  return internalError(call, " failed: ", errorName(code));
}

}  // namespace isthmus::opencl
