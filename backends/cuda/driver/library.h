// The driver's functions, found in a library that is loaded when the first client is made.
#pragma once

#include <string>

#include "backends/cuda/driver/api.h"
#include "isthmus/status.h"

namespace isthmus::cuda {

// X(member, symbol, parameters): the newest versions that every driver since CUDA 12.0 has.
#define ISTHMUS_CUDA_FUNCTIONS(X)                                                                 \
  X(Init, "cuInit", (unsigned))                                                                   \
  X(DriverGetVersion, "cuDriverGetVersion", (int*))                                               \
  X(GetErrorName, "cuGetErrorName", (CUresult, const char**))                                     \
  X(GetErrorString, "cuGetErrorString", (CUresult, const char**))                                 \
  X(DeviceGetCount, "cuDeviceGetCount", (int*))                                                   \
  X(DeviceGet, "cuDeviceGet", (CUdevice*, int))                                                   \
  X(DeviceGetName, "cuDeviceGetName", (char*, int, CUdevice))                                     \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, CUdeviceAttribute, CUdevice))              \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                   \
  X(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                   \
  X(DeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool", (CUmemoryPool*, CUdevice))              \
  X(CtxGetCurrent, "cuCtxGetCurrent", (CUcontext*))                                               \
  X(CtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                                \
  X(StreamCreate, "cuStreamCreate", (CUstream*, unsigned))                                        \
  X(StreamSynchronize, "cuStreamSynchronize", (CUstream))                                         \
  X(StreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                          \
  X(StreamWriteValue32, "cuStreamWriteValue32_v2", (CUstream, CUdeviceptr, uint32_t, unsigned))   \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int))                               \
  X(StreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph*))                                 \
  X(EventCreate, "cuEventCreate", (CUevent*, unsigned))                                           \
  X(EventDestroy, "cuEventDestroy_v2", (CUevent))                                                 \
  X(EventRecord, "cuEventRecord", (CUevent, CUstream))                                            \
  X(EventQuery, "cuEventQuery", (CUevent))                                                        \
  X(EventSynchronize, "cuEventSynchronize", (CUevent))                                            \
  X(EventElapsedTime, "cuEventElapsedTime", (float*, CUevent, CUevent))                           \
  X(MemAllocAsync, "cuMemAllocAsync", (CUdeviceptr*, size_t, CUstream))                           \
  X(MemFreeAsync, "cuMemFreeAsync", (CUdeviceptr, CUstream))                                      \
  X(MemPoolSetAttribute, "cuMemPoolSetAttribute", (CUmemoryPool, CUmemPoolAttribute, void*))      \
  X(MemPoolGetAttribute, "cuMemPoolGetAttribute", (CUmemoryPool, CUmemPoolAttribute, void*))      \
  X(MemPoolTrimTo, "cuMemPoolTrimTo", (CUmemoryPool, size_t))                                     \
  X(DeviceCanAccessPeer, "cuDeviceCanAccessPeer", (int*, CUdevice, CUdevice))                     \
  X(MemPoolSetAccess, "cuMemPoolSetAccess", (CUmemoryPool, const CUmemAccessDesc*, size_t))       \
  X(MemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                                   \
  X(MemFreeHost, "cuMemFreeHost", (void*))                                                        \
  X(MemcpyAsync, "cuMemcpyAsync", (CUdeviceptr, CUdeviceptr, size_t, CUstream))                   \
  X(Memcpy2DAsync, "cuMemcpy2DAsync_v2", (const CUDA_MEMCPY2D*, CUstream))                        \
  X(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))             \
  X(ModuleLoadDataEx, "cuModuleLoadDataEx",                                                       \
    (CUmodule*, const void*, unsigned, CUjitOption*, void**))                                     \
  X(ModuleUnload, "cuModuleUnload", (CUmodule))                                                   \
  X(ModuleGetFunction, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))               \
  X(LaunchHostFunc, "cuLaunchHostFunc", (CUstream, CUhostFn, void*))                              \
  X(LaunchKernel, "cuLaunchKernel",                                                               \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,  \
     void**, void**))                                                                             \
  X(GraphCreate, "cuGraphCreate", (CUgraph*, unsigned))                                           \
  X(GraphAddKernelNode, "cuGraphAddKernelNode_v2",                                                \
    (CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS*))          \
  X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                   \
    (CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_MEMCPY3D*, CUcontext))         \
  X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2",                            \
    (CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS*))                                   \
  X(GraphExecMemcpyNodeSetParams, "cuGraphExecMemcpyNodeSetParams",                               \
    (CUgraphExec, CUgraphNode, const CUDA_MEMCPY3D*, CUcontext))                                  \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec*, CUgraph, unsigned long long)) \
  X(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                                        \
  X(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                                        \
  X(GraphDestroy, "cuGraphDestroy", (CUgraph))

// A table of them, so that nothing links CUDA. Never unloaded.
struct Library {
#define ISTHMUS_CUDA_MEMBER(name, symbol, parameters) CUresult(*name) parameters = nullptr;
  ISTHMUS_CUDA_FUNCTIONS(ISTHMUS_CUDA_MEMBER)
#undef ISTHMUS_CUDA_MEMBER
  std::string path;

  // OK for CUDA_SUCCESS; else kResourceExhausted where memory ran out, kNotFound without a device,
  // and kInternal otherwise, with `call` ("cuStreamSynchronize") and CUDA's name and sentence.
  Status check(CUresult code, const char* call) const;
};

// Loads `path` (libcuda.so.1) and initialises it. kNotFound, naming the path and what the linker or
// the driver said, if that fails.
StatusOr<Library> loadLibrary(const std::string& path);

}  // namespace isthmus::cuda
