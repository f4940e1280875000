// Programs of devices whose host enqueues steps, in the flat binary form of base/byte_stream.h.
#pragma once

#include "backends/shared/staging/host_functions.h"
#include "base/byte_stream.h"
#include "compiler/driver/device_program.h"
#include "isthmus/status.h"

namespace isthmus {

// Readers take hostile bytes: what makes no sense fails the reader.
void writeDeviceProgram(ByteWriter& out, const DeviceProgram& program);
void readDeviceProgram(ByteReader& in, DeviceProgram& program);
void writeHostProgram(ByteWriter& out, const HostProgram& program);
HostProgram readHostProgram(ByteReader& in);

// What must hold before anybody indexes by their numbers: kInvalidArgument names the first field
// that contradicts itself or another one; kFailedPrecondition if this machine's CPU lacks what the
// host's part needs. `libraryCalls` is how many calls of a library of the device the backend keeps.
// Code is not looked at.
Status checkProgram(const DeviceProgram& program, const HostProgram& host, int libraryCalls);

}  // namespace isthmus
