// Programs of devices whose host enqueues steps, in the flat binary form of base/byte_stream.h.
#pragma once

#include <string>
#include <string_view>

#include "backends/shared/staging/staged_program.h"
#include "base/byte_stream.h"
#include "isthmus/status.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace isthmus {

// Readers take hostile bytes: what makes no sense fails the reader.
void writeDeviceProgram(ByteWriter& out, const DeviceProgram& program);
void readDeviceProgram(ByteReader& in, DeviceProgram& program);
void writeHostProgram(ByteWriter& out, const HostProgram& program);
HostProgram readHostProgram(ByteReader& in);

// What must hold before anybody indexes by their numbers: kInvalidArgument names the first field
// that contradicts itself or another one; kFailedPrecondition if this machine's CPU lacks what the
// host's part needs, or nobody carries it out (`provider` is null). `libraryCalls` is how many
// calls of a library of the device the backend keeps. Code is not looked at.
Status checkProgram(const DeviceProgram& program, const HostProgram& host, int libraryCalls,
                    const HostFunctionProvider* provider);

// The serialized executables of one backend.
struct ProgramKind {
  std::string_view magic;    // what their bytes begin with
  std::string_view backend;  // whose they are, for messages
};
// `device` is what the program needs to run; `writeCode` writes what `readCode` reads again: the
// code of the kernels. With a key (cache_key.h), the bytes say by whom they were made.
std::string sealProgram(const ProgramKind& kind, std::string_view device,
                        const StagedProgram& program, std::string_view key,
                        llvm::function_ref<void(ByteWriter&)> writeCode);
// Reads a program without checking it. kInvalidArgument if the bytes are not of this kind, are
// damaged or incomplete; kFailedPrecondition, with what is needed and what is here, if they are for
// another build or device, or were not made with `key`, if there is one.
Status unsealProgram(const ProgramKind& kind, std::string_view device, std::string_view bytes,
                     std::string_view key, StagedProgram& program,
                     llvm::function_ref<void(ByteReader&)> readCode);

}  // namespace isthmus
