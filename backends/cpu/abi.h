// The binary interface between generated code and the runtime functions that it calls.
//
// A compiled program is one function, `isthmus_main`, that runs the whole plan: straight-line calls
// of kernels and library functions over addresses in the parameters, the results and one arena,
// with loops and branches as native code. Nothing here may change without kAbiVersion changing,
// since serialized executables hold code that was compiled against it.
#pragma once

#include <cstdint>

#include "isthmus/backend.h"
#include "isthmus/run_services.h"
#include "isthmus/status.h"
#include "runtime/ffi/call_site.h"

namespace isthmus::cpu {

using CallSites = std::vector<std::unique_ptr<ffi::CallSite>>;

extern "C" {

struct IsthmusRun;
struct CollectivesInFlight;

// A generated kernel: computes tiles [begin, end) of its results. `buffers` holds the addresses of
// its operands, then of its results.
typedef void (*IsthmusKernel)(void* const* buffers, int64_t begin, int64_t end);

// A function written in C++ that generated code calls: a GEMM, a sort, a collective, a custom call.
// `descriptor` points at the plain-data structure that its header declares (constant data of the
// program: no pointers inside); `buffers` are as above, followed by what the descriptor says
// (for example an epilogue kernel and its operands). Returns 0, or 1 after it has set run->status.
typedef int32_t (*IsthmusLibraryFunction)(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers);

// The program. Returns 0, or 1 if run->status holds an error.
typedef int32_t (*IsthmusMain)(IsthmusRun* run, void* const* parameters, void* const* results,
                               char* arena);

// Generated code knows the first two fields only, by their offsets.
struct IsthmusRun {
  void (*parallelFor)(IsthmusRun* run, IsthmusKernel kernel, void* const* buffers, int64_t tiles,
                      int64_t grain);
  // Told the index of each step that begins (program_trace.h); null if nobody listens.
  void (*beginStep)(IsthmusRun* run, int64_t step);
  const RunRequest* request;
  RunServices* services;
  Status* status;
  const CallSites* callSites;  // of the executable
  // Collectives that have set out (collectives_in_flight.h); null where each is waited for at once.
  CollectivesInFlight* inFlight;
};

}  // extern "C"

// Library functions by the name under which generated code calls them, such as
// "isthmus_rt_dot". Registered by a namespace-scope LibraryFunction object beside each function.
struct LibraryFunction {
  LibraryFunction(const char* name, IsthmusLibraryFunction function);
  const char* name;
  IsthmusLibraryFunction function;
  LibraryFunction* next;
};

// Null if there is none of that name.
IsthmusLibraryFunction findLibraryFunction(const char* name);

// Records `status` in the run; for use as `return fail(run, status)`.
inline int32_t fail(IsthmusRun* run, Status status) {
  *run->status = std::move(status);
  return 1;
}

}  // namespace isthmus::cpu
