// The compile side of a device: what turns kernels of the shared compiler into the device's code.
//
// `compileForDevice` does all of a compilation: it reads the program, simplifies and fuses it,
// plans its memory and writes its kernels in LLVM IR. A DeviceCompiler says what for and makes code
// of them; the executable launches them in the program's order, on backends of both kinds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "isthmus/backend.h"
#include "isthmus/device_optional.h"
#include "isthmus/device_queue.h"
#include "isthmus/status.h"

namespace isthmus {

// What kernels are written for.
struct DeviceTarget {
  std::string triple;      // as LLVM names it: "spirv64-unknown-unknown"
  std::string dataLayout;  // of pointers and integers, as LLVM writes it; empty: LLVM's default
  // 0: many threads, an element each. Else few, with registers of so many bits: tiles, in vectors.
  unsigned vectorBits = 0;
  unsigned addressSpace = 0;  // of the device's memory, as LLVM IR numbers it
  DeviceGroups groups;        // of threads with an element each; none unless it is said
};

// A function of the module that returns nothing and takes a pointer to each of its buffers, of
// which there are 128 at most. It is called for each work-item of a launch, in any order and at
// once; one beyond `items` does nothing. Work-items know themselves by the device's `i64
// isthmus_work_item(i32 dimension)`, those of groups by DeviceGroups' functions. Else kernels call
// LLVM's intrinsics and <math.h>'s.
struct DeviceKernel {
  std::string name;                       // kernels that compute the same share one function
  std::array<int64_t, 3> items{1, 1, 1};  // along each dimension
  unsigned groupThreads = 1;  // else `items` are groups, numbered in order, of so many threads
  std::string description;    // its operations and their source line, for errors
};

// The kernels of one program, for all devices of a client; immutable. Both functions may block on a
// synchronous backend, whose events are null, and not on an asynchronous one.
class DeviceKernels {
 public:
  virtual ~DeviceKernels() = default;
  // Launches kernel number `kernel` after the events. An error names its description.
  virtual StatusOr<DeviceEventRef> launch(int deviceId, int kernel,
                                          std::span<const DevicePlace> buffers,
                                          DeviceEvents after) const = 0;
  // Copies `bytes` (more than 0) between places of the device, which do not overlap.
  virtual StatusOr<DeviceEventRef> copy(int deviceId, DevicePlace to, DevicePlace from,
                                        size_t bytes, DeviceEvents after) const = 0;
};

// Immutable; used by many threads.
class DeviceCompiler {
 public:
  virtual ~DeviceCompiler() = default;
  // Everything but the program that code depends on: version, device, driver. Part of fingerprints.
  virtual std::string identity() const = 0;
  virtual DeviceTarget target() const = 0;  // constant
  // False for an operation ("stablehlo.sort") that the device must have no kernel of: programs with
  // it are kUnimplemented, by a message with its types and source line, unless there are
  // hostFunctions and ISTHMUS_FALLBACK=cpu has them carry it out.
  virtual bool supports(std::string_view op) const { return true; }
  // Who carries out what the device has no kernel of; null: such programs are refused. Lives as
  // long as the executables, as do the collectives.
  virtual const HostFunctionProvider* hostFunctions() const { return nullptr; }
  virtual DeviceCollectives* collectives() const { return nullptr; }  // null: the host does them
  // The device's code, as bytes, of a module of LLVM IR as text. Blocks; an error fails `compile`.
  virtual StatusOr<std::string> emit(std::string_view llvmIr,
                                     std::span<const DeviceKernel> kernels) const = 0;
  // Makes code ready to be launched; kernels are numbered as they stand. Blocks. The code is that
  // of `emit`, perhaps of another process with the same `identity`: damaged files do not get here.
  virtual StatusOr<std::unique_ptr<DeviceKernels>> load(
      std::string_view code, std::span<const DeviceKernel> kernels) const = 0;
};

// Backend::compile of such a backend. Both outlive the executable. kUnimplemented, naming it, for
// an operation that neither the device has a kernel of nor the host a function.
StatusOr<std::shared_ptr<const Executable>> compileForDevice(Backend& backend,
                                                             const DeviceCompiler& compiler,
                                                             const CompileRequest& request);
// Backend::supports, Backend::optimizedProgram, and Backend::deserialize of what its executables'
// `serialize` wrote.
Support supportForDevice(const DeviceCompiler& compiler, std::string_view op);
StatusOr<std::string> optimizedProgramText(const ProgramInfo& info);
StatusOr<std::shared_ptr<const Executable>> loadForDevice(Backend& backend,
                                                          const DeviceCompiler& compiler,
                                                          std::string_view bytes);

}  // namespace isthmus
