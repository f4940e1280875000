// OpenCL's functions, found in a library that is loaded when the first client is made.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <string>

#include "isthmus/status.h"

namespace isthmus::opencl {

// The functions that every OpenCL 2.1 library has, by their names without `cl`.
#define ISTHMUS_OPENCL_FUNCTIONS(X)         \
  X(BuildProgram)                           \
  X(CreateCommandQueueWithProperties)       \
  X(CreateContext)                          \
  X(CreateKernel)                           \
  X(CreateProgramWithBinary)                \
  X(CreateProgramWithIL)                    \
  X(CreateProgramWithSource)                \
  X(EnqueueMarkerWithWaitList)              \
  X(EnqueueNDRangeKernel)                   \
  X(EnqueueSVMMemcpy)                       \
  X(Flush)                                  \
  X(GetDeviceIDs)                           \
  X(GetDeviceInfo)                          \
  X(GetEventInfo)                           \
  X(GetEventProfilingInfo)                  \
  X(GetExtensionFunctionAddressForPlatform) \
  X(GetPlatformIDs)                         \
  X(GetPlatformInfo)                        \
  X(GetProgramBuildInfo)                    \
  X(GetProgramInfo)                         \
  X(ReleaseEvent)                           \
  X(ReleaseKernel)                          \
  X(ReleaseProgram)                         \
  X(RetainEvent)                            \
  X(SetKernelArg)                           \
  X(SetKernelArgSVMPointer)                 \
  X(SVMAlloc)                               \
  X(SVMFree)                                \
  X(WaitForEvents)

// A table of them, so that nothing links OpenCL. Never unloaded.
struct Library {
#define ISTHMUS_OPENCL_MEMBER(name) decltype(&::cl##name) name = nullptr;
  ISTHMUS_OPENCL_FUNCTIONS(ISTHMUS_OPENCL_MEMBER)
#undef ISTHMUS_OPENCL_MEMBER
  std::string path;
  // Whether but one thread at a time may be in WaitForEvents.
  bool waitsOneByOne = false;
};

// Loads `path`: the loader of installable drivers (libOpenCL.so.1), or a driver that has the
// functions itself. kNotFound, naming the path and what the linker said, if that fails.
StatusOr<Library> loadLibrary(const std::string& path);

// OK for CL_SUCCESS; else kResourceExhausted where memory ran out and kInternal otherwise, with
// `call` ("clFinish") and OpenCL's name of the code.
Status check(cl_int code, const char* call);

// "CL_OUT_OF_RESOURCES"; "OpenCL error -9999" for codes that no table has.
std::string errorName(cl_int code);

}  // namespace isthmus::opencl
